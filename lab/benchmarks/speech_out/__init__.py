"""Speech out: how soon it is heard, what it costs, and whether it is understood."""
