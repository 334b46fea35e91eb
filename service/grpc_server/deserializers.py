"""Requests that cannot be read.

gRPC's own deserialization failure would end the call with INTERNAL, as if the server were at fault, before a servicer
sees it, and its limit on the length of messages is one for all methods of a server. Ours hands the servicer a mark
instead, which it answers as it does any other bad request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from pipelines.errors import InvalidInputError
from service.refusals import MessageTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

MAX_MESSAGE_BYTES = 4 << 20
"""Length of a request of any method that says nothing else."""

MAX_RECORDING_BYTES = 336 << 20
"""An hour of 16-bit samples on one channel at 48 kHz, with room for a header; on a port for recordings alone."""

MAX_RECEIVED_BYTES = 8 << 20
"""What callers' messages may have at all: gRPC refuses more when it learns the length, in words of its own."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a request that could not be read; ``error`` says why."""

    error: Exception


def reader(message: type[Message], max_bytes: int = MAX_MESSAGE_BYTES) -> Callable[[bytes], object]:
    """Return a deserializer of ``message``; invalid input gives :class:`Unreadable`."""

    def read(data: bytes) -> object:
        if len(data) > max_bytes:
            return Unreadable(MessageTooLargeError(len(data), max_bytes))
        try:
            return message.FromString(data)
        except DecodeError:
            package = message.DESCRIPTOR.file.package
            text = f"a request cannot be read: send protobuf of {package} with text in UTF-8"
            return Unreadable(InvalidInputError("request", "MALFORMED_REQUEST", text))

    return read


def refuse_malformed(request: object) -> None:
    """Raise what is wrong with ``request`` if it could not be read.

    Raises:
        InvalidInputError: it is no protobuf of the expected type.
        MessageTooLargeError: it is too long.
    """
    if isinstance(request, Unreadable):
        raise request.error
