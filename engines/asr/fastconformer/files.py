"""Names of the files of an imported recognizer, in the folder of its model's version."""

ENCODER = "encoder.onnx"
PREDICTOR = "predictor.onnx"
JOINT = "joint.onnx"
CTC_HEAD = "ctc.onnx"
PIECES = "pieces.json"
"""List of what each token spells."""
