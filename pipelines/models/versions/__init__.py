"""Versions of engines, replaced while turns run."""
