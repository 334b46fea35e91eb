"""Voice activity detection and endpointing."""
