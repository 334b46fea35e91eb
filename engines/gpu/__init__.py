"""What the engines on a GPU share: the choice of the device, attention over packed rows, sizes and CUDA graphs.

Only ``device`` and ``buckets`` can be imported without PyTorch.
"""
