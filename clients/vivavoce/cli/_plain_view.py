"""Conversations as plain lines, for files and pipes: no control codes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO

from vivavoce import Event, GoingAway, Interrupted, Notice, Reconnected, Reply, SpeechPaused, ToolCall, Transcript
from vivavoce.cli._rows import interruption, printable, reconnection, reply_rows, speaker_label

if TYPE_CHECKING:
    from types import TracebackType


class PlainView(AbstractContextManager["PlainView"]):
    """Writes a line for every change of the words, and the rows of every reply."""

    def __init__(self, stream: TextIO, budget_seconds: float) -> None:
        self._stream = stream
        self._budget_seconds = budget_seconds
        self._words = ""
        self._replied = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    def begin(self, name: str) -> None:
        """Write a heading."""
        self._replied = False
        if name:
            self._write(f"== {printable(name)}")

    def show(self, event: Event) -> None:
        """Write what a person wants to know of `event`."""
        match event:
            case Transcript():
                self._transcript(event)
            case SpeechPaused():
                self._words = event.text
                self._write(f"  {printable(event.text)} ... over with {event.probability:.0%}")
            case Reply():
                self._reply(event)
            case Notice():
                self._write(f"! {printable(event.message)}")
            case GoingAway():
                self._write(f"! The server ends the conversation in {event.grace_seconds:.0f} s.")
            case Interrupted():
                self._write(f"! {interruption(event)}")
            case ToolCall():
                self._write(f"! The agent asks for the tool {printable(event.name)}, which this command does not have.")
            case Reconnected():
                self._words = ""
                self._write(f"! {reconnection(event)}")

    def level(self, peak: float) -> None:
        """Levels need a terminal."""

    def end(self) -> None:
        """Say so when nothing was heard."""
        if not self._replied:
            self._write("Nothing was said.")

    def _transcript(self, transcript: Transcript) -> None:
        if transcript.is_final:
            self._words = ""
            self._write(f"> {speaker_label(transcript)}{printable(transcript.text)}")
        elif transcript.text != self._words:
            self._words = transcript.text
            self._write(f"  {printable(transcript.text)} ...")

    def _reply(self, reply: Reply) -> None:
        self._replied = True
        if reply.completes:
            self._write(f"> {printable(reply.transcript)}")
        for row in reply_rows(reply, self._budget_seconds):
            indent = "    " if row.is_detail else "  "
            self._write(f"{indent}{row.label:<8}{row.text}")

    def _write(self, line: str) -> None:
        print(line, file=self._stream, flush=True)
