"""Conversations as JSON lines. Keys are a contract; new ones go to the end."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO

from vivavoce.cli._file_names import in_unicode

if TYPE_CHECKING:
    from types import TracebackType

    from vivavoce import Event


class JsonView(AbstractContextManager["JsonView"]):
    """Writes every event to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._name = ""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    def begin(self, name: str) -> None:
        """Names the conversation in the objects that follow."""
        self._name = in_unicode(name)

    def show(self, event: Event) -> None:
        """Write `event`."""
        named = {"file": self._name} if self._name else {}
        print(json.dumps({**event.to_dict(), **named}), file=self._stream, flush=True)

    def level(self, peak: float) -> None:
        """Levels are for people."""

    def end(self) -> None:
        """See the view: the end of the output tells."""
