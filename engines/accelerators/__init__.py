"""Accelerators by Triton's own configuration: which there are, and what computes with them."""
