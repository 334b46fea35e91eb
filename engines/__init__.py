"""Code inside Triton's Python backend: recognition, BERT, speech and turns.

Nothing here imports ``service``, ``pipelines`` or ``clients``, and nothing here needs a running
Triton: the thin ``model.py`` files of ``model_repository`` do the translation from Triton's
request objects to the NumPy arrays that these engines take and return.
"""

import os
import sys

# Before ONNX Runtime is loaded: its wheel calls its vendor and writes a device id into the home folder otherwise.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
# Before OpenVINO is loaded: with this package it tells its vendor of each import. Without it, it tells nobody.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
