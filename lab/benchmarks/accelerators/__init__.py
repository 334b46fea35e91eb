"""Compares what computes the networks: onnxruntime and accelerators, in each precision, speed beside quality."""
