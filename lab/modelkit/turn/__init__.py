"""The model of the end of a turn: its training material, the two parts of our own, and how they are fused."""
