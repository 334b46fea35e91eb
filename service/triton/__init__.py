"""Start and supervision of the Triton Inference Server."""
