"""Networks cut at their layers into stages, which Triton runs as a pipeline."""
