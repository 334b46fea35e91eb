"""What goes wrong in model making."""

from __future__ import annotations


class DataError(ValueError):
    """A data file does not say what its format promises; the message names the place."""
