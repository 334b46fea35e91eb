"""How well systems tell the end of a turn from a pause within it."""
