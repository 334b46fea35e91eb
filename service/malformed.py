"""Requests that cannot be read.

gRPC's own deserialization failure would end the call with INTERNAL, as if the server were at fault, before a servicer
sees it. Ours hands the servicer a mark instead, which it answers as it does any other bad request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

MALFORMED: Final = object()
"""Stands for a request that could not be read."""


def reader(message: type[Message]) -> Callable[[bytes], object]:
    """Returns a deserializer of ``message`` that returns :data:`MALFORMED` for bytes that are none."""

    def read(data: bytes) -> object:
        try:
            return message.FromString(data)
        except DecodeError:
            return MALFORMED

    return read


def refuse_malformed(request: object) -> None:
    """Raises InvalidInputError if ``request`` could not be read."""
    if request is MALFORMED:
        message = "a request cannot be read: send protobuf of vivavoce.v1 with text in UTF-8"
        raise InvalidInputError("request", "MALFORMED_REQUEST", message)
