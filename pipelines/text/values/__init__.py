"""Value resolution: dates, times, amounts and numbers, in ISO 8601."""

from __future__ import annotations

from pipelines.text.values.model import read_clock
from pipelines.text.values.resolver import find_values, resolve

__all__ = ["find_values", "read_clock", "resolve"]
