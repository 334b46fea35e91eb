"""NVIDIA Riva's language services."""
