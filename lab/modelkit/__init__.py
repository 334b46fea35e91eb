"""Everything that makes or judges a model: data loaders, training, export, compression, scores."""

import os

# Before ONNX Runtime is loaded: its wheel calls its vendor and writes a device id into the home folder otherwise.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
