"""BERT engines: tokenizing, batched inference on onnxruntime, and decoding of the outputs."""
