"""Errors as Wyoming's `error` events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wyoming.error import Error

if TYPE_CHECKING:
    import vivavoce


class RefusedError(Exception):
    """A client asked for something that cannot be done.

    Attributes:
        code: What is wrong, for programs.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def error_event(error: RefusedError | vivavoce.VivavoceError) -> Error:
    """Send `error` to a client: its sentence and its code."""
    if isinstance(error, RefusedError):
        return Error(text=str(error), code=error.code)
    reason = getattr(error, "reason", "")
    return Error(text=error.message, code=_kebab_case(reason or type(error).__name__))


def _kebab_case(name: str) -> str:
    """Write names such as `ServerUnavailable` in Wyoming's form."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", "-", name).lower()
