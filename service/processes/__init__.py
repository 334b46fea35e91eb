"""Child processes: how they start, what they may use, and how they end."""
