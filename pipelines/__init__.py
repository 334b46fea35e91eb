"""Turns: audio, endpointing, recognition, understanding, answers and budgets.

Knows turns, and neither gRPC servicers nor Triton: models are reached through the protocols of
``pipelines.models.ports``,
of which ``pipelines.models.triton`` alone is implemented with Triton's client.
"""

import os

# Before ONNX Runtime is loaded: its wheel calls its vendor and writes a device id into the home folder otherwise.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
