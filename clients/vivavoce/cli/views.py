"""Protocol of the views, and the choice among them."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

from vivavoce.cli._json_view import JsonView
from vivavoce.cli._live_view import LiveView
from vivavoce.cli._plain_view import PlainView
from vivavoce.cli._rows import DEFAULT_BUDGET_SECONDS, milliseconds

if TYPE_CHECKING:
    from vivavoce import Event


__all__ = ["DEFAULT_BUDGET_SECONDS", "View", "choose_view", "milliseconds"]


class View(AbstractContextManager["View"], Protocol):
    """Shows conversations, one after the other."""

    def begin(self, name: str) -> None:
        """Begin a conversation; `name` is "" where there is only one."""

    def show(self, event: Event) -> None:
        """Something happened in it."""

    def level(self, peak: float) -> None:
        """So loud is the microphone now: the highest absolute sample, 0 to 1."""

    def end(self) -> None:
        """End the conversation."""


def choose_view(*, as_json: bool, budget_seconds: float | None) -> View:
    """Choose the view for stdout: JSON, live in a terminal, or plain lines."""
    if as_json:
        return JsonView(sys.stdout)
    budget_seconds = DEFAULT_BUDGET_SECONDS if budget_seconds is None else budget_seconds
    console = Console(highlight=False)
    return LiveView(console, budget_seconds) if console.is_terminal else PlainView(sys.stdout, budget_seconds)
