"""Accelerators of networks, by Triton's own configuration."""
