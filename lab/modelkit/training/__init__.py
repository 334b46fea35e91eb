"""Trains engines: reads the data, runs the loop, calibrates, and writes an engine directory. Needs PyTorch."""
