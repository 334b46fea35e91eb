"""End-of-turn detection from the last seconds of sound and the words."""
