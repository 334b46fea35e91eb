"""Measurements. Each runs from the project's root: ``python -m benchmarks.NAME``; results lie in ``results/``."""

import os

# Before ONNX Runtime is loaded: its wheel calls its vendor and writes a device id into the home folder otherwise.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
