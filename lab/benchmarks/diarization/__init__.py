"""Error rate and cost of telling who speaks: ``python -m benchmarks.diarization``."""
