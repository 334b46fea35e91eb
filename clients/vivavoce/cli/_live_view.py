"""Live view of conversations in a terminal, with a level meter."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from vivavoce import (
    Event,
    GoingAway,
    Interrupted,
    Notice,
    Reconnected,
    Reply,
    ReplyStatus,
    SpeechBegan,
    SpeechPaused,
    SpeechResumed,
    Transcript,
)
from vivavoce.cli._rows import Row, interruption, printable, reconnection, reply_rows, speaker_label

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_METER_CELLS = 30
_METER_FLOOR_DB = -60.0
_METER_LOUD_DB = -6.0


class LiveView(AbstractContextManager["LiveView"]):
    """Terminal view: what is certain scrolls up above the last, changing lines."""

    def __init__(self, console: Console, budget_seconds: float) -> None:
        self._console = console
        self._budget_seconds = budget_seconds
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._words = Text()
        self._last_partial = ""
        self._meter: Text | None = None
        self._replied = False
        self._late: dict[int, Group] = {}

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def begin(self, name: str) -> None:
        """Print a heading."""
        self._replied = False
        if name:
            self._console.print(Text(printable(name), style="bold blue"))

    def show(self, event: Event) -> None:
        """Show `event`."""
        match event:
            case SpeechBegan():
                self._firm_up("")
            case Transcript(is_final=False):
                self._firm_up(event.text)
            case SpeechPaused():
                self._pause(event)
            case SpeechResumed():
                self._firm_up(self._last_partial)
            case Transcript():
                self._clear_words()
                words = (printable(event.text), "bold")
                self._console.print(Text.assemble(("> ", "green"), speaker_label(event), words))
            case Reply():
                self._reply(event)
            case Notice():
                self._console.print(Text(printable(event.message), style="yellow"))
            case GoingAway():
                warning = f"The server ends the conversation in {event.grace_seconds:.0f} s."
                self._console.print(Text(warning, style="yellow"))
            case Interrupted():
                self._console.print(Text(interruption(event), style="yellow"))
            case Reconnected():
                self._clear_words()
                self._console.print(Text(reconnection(event), style="yellow"))
        self._refresh()

    def level(self, peak: float) -> None:
        """Move the meter."""
        self._meter = _meter(peak)
        self._refresh()

    def end(self) -> None:
        """Say so when nothing was heard."""
        for late in self._late.values():
            self._console.print(late)
        self._late.clear()
        self._clear_words()
        self._meter = None
        if not self._replied:
            self._console.print(Text("Nothing was said.", style="dim"))
        self._refresh()

    def _reply(self, reply: Reply) -> None:
        """Print a reply; a partial one stays at the bottom until its completion."""
        self._replied = True
        rows = Group(*map(_row, reply_rows(reply, self._budget_seconds)))
        if reply.status is ReplyStatus.PARTIAL:
            self._late[reply.turn] = rows
            self._clear_words()
            return
        was_late = self._late.pop(reply.turn, None) is not None
        self._clear_words()
        if was_late and self._late:
            self._console.print(Text.assemble(("> ", "green"), (printable(reply.transcript), "bold")))
        self._console.print(rows)

    def _firm_up(self, text: str) -> None:
        """Show a partial transcript: words that were there before firmly, new ones dimly."""
        words, firm = printable(text).split(" "), _firm_word_count(self._last_partial, text)
        self._last_partial = text
        self._words = Text.assemble(
            ("> ", "dim green"), " ".join(words[:firm]), " ", (" ".join(words[firm:]), "dim"), (" ...", "dim")
        )

    def _pause(self, paused: SpeechPaused) -> None:
        """Show what was said up to a pause, and how likely the turn is over."""
        self._last_partial = paused.text
        judgement = f" ... over with {paused.probability:.0%}"
        self._words = Text.assemble(("> ", "dim green"), printable(paused.text), (judgement, "dim cyan"))

    def _clear_words(self) -> None:
        self._last_partial, self._words = "", Text()
        self._refresh()  # What is printed next must not bring them back below it.

    def _refresh(self) -> None:
        self._live.update(self._region(), refresh=True)

    def _region(self) -> Group:
        return Group(*self._late.values(), *(line for line in (self._words, self._meter) if line))


def _firm_word_count(before: str, now: str) -> int:
    """Count the words at the beginning of `now` that were already there `before`."""
    count = 0
    for old, new in zip(before.split(" "), now.split(" "), strict=False):
        if old != new:
            break
        count += 1
    return count


def _row(row: Row) -> Text:
    style = "yellow" if row.is_warning else "dim" if row.is_detail else ""
    return Text.assemble(("    " if row.is_detail else "  ") + f"{row.label:<8}", (row.text, style))


def _meter(peak: float) -> Text:
    decibels = 20 * math.log10(max(peak, 1e-6))
    filled = round(_METER_CELLS * min(1.0, max(0.0, 1 - decibels / _METER_FLOOR_DB)))
    style = "red" if decibels > _METER_LOUD_DB else "green"
    return Text.assemble(("█" * filled, style), ("░" * (_METER_CELLS - filled), "dim"), f" {decibels:4.0f} dB")
