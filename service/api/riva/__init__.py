"""NVIDIA Riva's public API over the pipelines of this service: its clients change the address and nothing else."""
