"""NVIDIA Riva's speech recognition."""
