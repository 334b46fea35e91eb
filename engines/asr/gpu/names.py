"""Names in the file of weights for a GPU, which ``engines.build.moonshine_network`` writes; without PyTorch."""

FORMAT_KEY, FORMAT = "vivavoce.moonshine", "1"
"""Entry of the file's header, and the version of its form."""
MATRIX_PARTS = ("weight", "scale", "zero_point", "bias")
"""Of each matrix: ``value = (weight - zero_point) * scale``, ``[inputs, outputs]``."""
LAYERS, HEADS, HEAD_SIZE = 6, 8, 36
WIDTH = HEADS * HEAD_SIZE
CONVOLUTIONS = ((127, 64), (7, 3), (3, 2))
"""Kernel and stride of each."""
