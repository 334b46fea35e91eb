"""NVIDIA Riva's public API: its clients change the address and nothing else."""
