"""Reading of documents in a process with bounded time and memory.

A PDF of half a megabyte can ask for gigabytes, and libraries that read such formats are not made to be stopped.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

from pipelines.knowledge.reading.parsed import ParsedDocument, UnreadableDocumentError
from pipelines.knowledge.reading.worker import LENGTH, TOO_LARGE

if TYPE_CHECKING:
    from typing import Self

MAX_MEMORY_BYTES = 1 << 30
MAX_SECONDS = 60.0
"""CPU time of one document."""


class _Outcome(msgspec.Struct):
    document: ParsedDocument | None = None
    reason: str = ""
    message: str = ""


class BoundedReader:
    """Reads documents as long as it is entered.

    Args:
        memory_bytes: address space of the process that reads.
        seconds: CPU time that one document may take.
    """

    def __init__(self, memory_bytes: int = MAX_MEMORY_BYTES, seconds: float = MAX_SECONDS) -> None:
        self._memory_bytes, self._seconds = memory_bytes, seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._end(self._process)

    def read(self, name: str, data: bytes) -> ParsedDocument:
        """Read a document; see ``pipelines.knowledge.reading.formats.read``.

        Raises:
            UnreadableDocumentError: it cannot be read, or takes too much time or memory.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        told = b""
        with contextlib.suppress(BrokenPipeError):
            for part in (name.encode("utf-8", "surrogateescape"), data):
                process.stdin.write(LENGTH.pack(len(part)))
                process.stdin.write(part)
            process.stdin.flush()
            head = process.stdout.read(LENGTH.size)
            told = process.stdout.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
        if not told:
            raise self._lost(process)
        outcome = msgspec.msgpack.decode(told, type=_Outcome)
        if outcome.document is None:
            raise UnreadableDocumentError(outcome.reason, outcome.message)
        return outcome.document

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            limits = (str(self._memory_bytes), str(self._seconds))
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                (sys.executable, "-P", "-m", "pipelines.knowledge.reading.worker", *limits),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _lost(self, process: subprocess.Popen[bytes]) -> UnreadableDocumentError:
        self._process = None
        if self._end(process) == -signal.SIGPROF:
            message = f"reading it takes over {self._seconds:g} s: split the document, or leave it out"
            return UnreadableDocumentError("TOO_SLOW", message)
        return UnreadableDocumentError("TOO_LARGE", TOO_LARGE)

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            return process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
