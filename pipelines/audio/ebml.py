"""Elements of EBML (RFC 8794), which Matroska and WebM (RFC 9559) are written in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ID_BYTES: Final = 4


class Element(NamedTuple):
    """Head of an element: ID, content length (None: unknown) and own length."""

    id: int
    size: int | None
    head: int


def read_number(data: bytes | bytearray, at: int, *, keeps_marker: bool = False) -> tuple[int, int] | None:
    """Read a number of variable length with its length; None if incomplete.

    A number whose bits are all 1 means unknown and is returned as -1. One of length 0 is damaged.
    """
    if at >= len(data):
        return None
    length = 9 - data[at].bit_length()
    if length > 8:
        return 0, 0
    if len(data) < at + length:
        return None
    number = int.from_bytes(data[at : at + length], "big")
    if keeps_marker:
        return number, length
    number &= (1 << 7 * length) - 1
    return (-1 if number == (1 << 7 * length) - 1 else number), length


def read_element(data: bytes | bytearray, at: int = 0) -> Element | None:
    """Read the head of an element; None where it is not whole. An ID of 0 is damaged."""
    identity = read_number(data, at, keeps_marker=True)
    if identity is None:
        return None
    number, length = identity
    if not 0 < length <= MAX_ID_BYTES:
        return Element(0, None, 1)
    size = read_number(data, at + length)
    if size is None:
        return None
    if not size[1]:
        return Element(0, None, 1)
    return Element(number, None if size[0] < 0 else size[0], length + size[1])


def children(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the ID and the content of each whole element in ``data``."""
    at = 0
    while (element := read_element(data, at)) is not None and element.id and element.size is not None:
        begin = at + element.head
        at = begin + element.size
        if at > len(data):
            return
        yield element.id, data[begin:at]
