"""Measurements. Each runs from the project's root: ``python -m benchmarks.NAME``; results lie in ``results/``."""
