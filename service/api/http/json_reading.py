"""JSON from callers: bounded before parsing, and long ones on a thread.

Every door that takes JSON reads it here. A parser spends microseconds on each value: four megabytes of ``[],[],…`` are
more than a million of them, and would stop the event loop for seconds.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from pipelines.errors import InvalidInputError
from service.admission.memory_shares import PENDING
from service.grpc_server.deserializers import MAX_MESSAGE_BYTES
from service.refusals import MessageTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.requests import Request

MAX_VALUES = 10_000
"""Values and names of one message."""
MAX_BESIDE_BYTES = 64 << 10
"""Bytes of one message, or of what a session keeps of it, beside audio and the texts of documents: phrase hints alone
may have 60,000 characters."""
BESIDE = "beside audio and the texts of documents"
_INLINE_BYTES = 32 << 10
"""A longer message is read on a thread."""
MAX_DEPTH = 64
"""Of objects in objects."""

_T = TypeVar("_T")


async def whole_body(request: Request, max_bytes: int) -> bytes:
    """Return the whole body of a request.

    Raises:
        MessageTooLargeError: it is too long.
        TooMuchMemoryError: others have not sent theirs whole, and there is no memory for this one.
    """
    body, key = bytearray(), object()
    peer = request.client.host if request.client else ""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise MessageTooLargeError(len(body), max_bytes)
            PENDING.hold(key, peer, len(body))
    finally:
        PENDING.release(key)
    return bytes(body)


async def read_json(data: bytes | str, read: Callable[[bytes], _T], max_bytes: int = MAX_MESSAGE_BYTES) -> _T:
    """Read a message.

    Args:
        data: as it came.
        read: parses and checks it; runs on a thread where the message is long.
        max_bytes: of the message.

    Raises:
        InvalidInputError: it has too many values.
        MessageTooLargeError: it is too long.
    """
    if len(data) > max_bytes:
        raise MessageTooLargeError(len(data), max_bytes)
    if len(data) <= _INLINE_BYTES:
        return _checked(data, read, max_bytes)
    return await asyncio.to_thread(_checked, data, read, max_bytes)


def _checked(data: bytes | str, read: Callable[[bytes], _T], max_bytes: int) -> _T:
    # Half a surrogate pair is no text; parsers find it and say so.
    content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(content) > max_bytes:
        raise MessageTooLargeError(len(content), max_bytes)
    if _has_many_values(content):
        message = f"a message has over {MAX_VALUES:,} values and names: send fewer"
        raise InvalidInputError("body", "TOO_MANY_VALUES", message)
    return read(content)


def check_beside(value: object, *documents: str, field: str = "body") -> None:
    """Check what a message has beside audio and the texts of documents.

    Args:
        value: of JSON, read.
        documents: names that lead to the list of documents.
        field: what an error names.

    Raises:
        InvalidInputError: it is nested too deep.
        MessageTooLargeError: it is too long.
    """
    size = _size(value, field)
    if size > MAX_BESIDE_BYTES:
        size -= sum(map(_bytes, _texts(value, documents)))
    if size > MAX_BESIDE_BYTES:
        raise MessageTooLargeError(size, MAX_BESIDE_BYTES, BESIDE)


def _has_many_values(data: bytes) -> bool:
    """Return whether a message has more than :data:`MAX_VALUES` values and names."""
    if _marks(data) <= MAX_VALUES:
        return False
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    pieces = plain.split(b'"', 2 * MAX_VALUES + 1)
    return len(pieces) > 2 * MAX_VALUES + 1 or _marks(b"".join(pieces[::2])) > MAX_VALUES


def _marks(data: bytes) -> int:
    return sum(map(data.count, (b",", b":", b"[", b"{")))


def _size(value: object, field: str) -> int:
    """Return the bytes of all texts, and one for each value.

    Raises:
        InvalidInputError: it is nested too deep.
    """
    size, level = 0, [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for one in level:
            size += 1
            if isinstance(one, str):
                size += _bytes(one)
            elif isinstance(one, dict):
                size += sum(map(_bytes, one))
                below += one.values()
            elif isinstance(one, list | tuple):
                below += one
        if not below:
            return size
        level = below
    message = f"there are objects in objects {MAX_DEPTH} levels deep: send flatter ones"
    raise InvalidInputError(field, "TOO_DEEP", message)


def _texts(value: object, documents: Collection[str]) -> list[str]:
    """Return the texts of the named documents, if any."""
    found: Any = value
    for name in documents:
        found = found.get(name) if isinstance(found, dict) else None
    if not documents or not isinstance(found, list):
        return []
    texts = (one.get("text") for one in found if isinstance(one, dict))
    return [text for text in texts if isinstance(text, str)]


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
