"""Checks of the project itself, which `make check` runs."""
