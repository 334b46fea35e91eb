"""Shows how a run gets on: a moving bar on a terminal, lines elsewhere. On stderr: stdout is for results."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

_LINE_SECONDS = 15.0


class Display(Protocol):
    """Where a run shows how it gets on."""

    def say(self, text: str) -> None:
        """Tells of one thing that was done."""

    def advance(self, progress: float, loss: float | None = None) -> None:
        """Tells how far what is done is, 0 to 1, and the recent loss where it is a training.

        Less than the last time means that something else has begun.
        """


class TerminalDisplay:
    """A bar that moves. Use it as a context manager."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
        self._progress = Progress(
            *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
        )
        self._task = self._progress.add_task("training", total=1.0, visible=False)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self._progress.console.print(text, highlight=False, markup=False)

    def advance(self, progress: float, loss: float | None = None) -> None:
        """Moves the bar."""
        if progress < self._progress.tasks[0].completed:
            self._progress.reset(self._task)
        self._progress.update(self._task, completed=progress, description=_loss(loss), visible=True)


class LineDisplay:
    """A line now and then. Use it as a context manager.

    Args:
        clock: tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._shown = clock()
        self._first = self._last = 1.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """Prints a line."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def advance(self, progress: float, loss: float | None = None) -> None:
        """Prints a line when the last one is some time ago."""
        now = self._clock()
        if progress < self._last:
            self._first, self._began = progress, now
        self._last = progress
        if now - self._shown >= _LINE_SECONDS and progress > self._first:
            self._shown = now
            left = (now - self._began) / (progress - self._first) * (1 - progress)
            self.say("  ".join(filter(None, (f"{progress:4.0%}", _loss(loss), f"{left / 60:.1f} min left"))))


def new_display() -> TerminalDisplay | LineDisplay:
    """Chooses the display for this process's stderr."""
    return TerminalDisplay() if sys.stderr.isatty() else LineDisplay()


def _loss(loss: float | None) -> str:
    return "" if loss is None else f"loss {loss:.3f}"


def format_scores(scores: Mapping[str, float]) -> str:
    """Writes scores in one line."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in scores.items())
