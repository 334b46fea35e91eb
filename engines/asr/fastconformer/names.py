"""Names of a step's inputs and outputs, and of the files of an engine."""

SUBSAMPLED = ("sub0", "sub1", "sub2")
"""Last frames before each of the three convolutions that subsample: a part of a stream's state."""
CACHED = ("keys", "values", "conv")
"""State of a stream in each layer; the inputs of a step are named by layer, as ``keys_0``."""
PROMPT = "prompt"
"""Input of networks with prompts, after all others."""
INPUTS = ("mels", "keep1", "keep2", "bias", *SUBSAMPLED)
"""Inputs of a step before those of its layers."""
OUTPUTS = ("encoded", *(f"{name}_next" for name in SUBSAMPLED), *(f"{name}_new" for name in CACHED))

ENCODER = "encoder.onnx"
PREDICTOR = "predictor.onnx"
JOINT = "joint.onnx"
CTC_HEAD = "ctc.onnx"
PIECES = "pieces.json"
"""List of what each token spells."""
