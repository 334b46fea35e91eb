"""NVIDIA's own Riva client beside our own, on the same server with the same conversations."""
