"""Shared parts of the GPU engines: device, attention, sizes, CUDA graphs.

Only ``device`` and ``buckets`` can be imported without PyTorch.
"""
