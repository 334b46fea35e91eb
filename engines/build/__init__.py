"""Builders of the engine files that `make setup` and the container image make."""
