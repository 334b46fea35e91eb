"""Worker process for documents; see ``pipelines.knowledge.reading.bounded``."""

from __future__ import annotations

import resource
import signal
import struct
import sys
from typing import TYPE_CHECKING

import msgspec

from pipelines.knowledge.reading.formats import read
from pipelines.knowledge.reading.parsed import UnreadableDocumentError

if TYPE_CHECKING:
    from typing import BinaryIO

LENGTH = struct.Struct("!Q")
"""Before the name of a document, its content, and what became of it."""


def main(memory_bytes: int, seconds: float) -> None:
    """Read documents from stdin until it ends, and write what they say to stdout.

    Args:
        memory_bytes: address space that the process may have.
        seconds: CPU time that one document may take; then the kernel ends the process, whatever library is at work.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while (name := _frame(source)) is not None and (data := _frame(source)) is not None:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        encoded = _read(name.decode("utf-8", "surrogateescape"), data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        target.write(LENGTH.pack(len(encoded)))
        target.write(encoded)
        target.flush()


def _read(name: str, data: bytes) -> bytes:
    try:
        return msgspec.msgpack.encode({"document": read(name, data)})
    except UnreadableDocumentError as error:
        reason, message = error.reason, str(error)
    except MemoryError:
        reason, message = "TOO_LARGE", TOO_LARGE
    except Exception as error:  # noqa: BLE001 - documents break readers in ways that nobody foresees
        reason, message = "DAMAGED", f"it cannot be read ({type(error).__name__}): save or export it again"
    return msgspec.msgpack.encode({"reason": reason, "message": message})


def _frame(source: BinaryIO) -> bytes | None:
    head = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


TOO_LARGE = "reading it takes too much memory: split the document, or leave it out"

if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
