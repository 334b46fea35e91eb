"""Damages files as transmission and attackers do: bytes changed, lost or repeated, lengths and words that lie."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

_HOW_MANY = (1, 1, 2, 4)
_HEAD = 512
"""Headers are here, and that is where damage tells most."""
_LENGTHS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_WORD = re.compile(rb"[\w.-]+")
_WORDS = (b"-1", b"0", b"1e999", b"nan", b"99999999999999999999", b"true", b"[]", b"{}", b'""', b"null", b"a" * 5_000)


def mutated(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Returns ``data`` after one to four random changes.

    Args:
        data: a valid file.
        others: files of which a part may come in.
        rng: decides.
    """
    changed = bytearray(data)
    for _ in range(rng.choice(_HOW_MANY)):
        rng.choice(_CHANGES)(changed, others, rng)
    return bytes(changed)


def _place(data: bytearray, rng: random.Random) -> int:
    return rng.randrange(min(len(data), _HEAD) if rng.random() < 0.5 else len(data)) if data else 0


def _piece(data: Sequence[int], rng: random.Random) -> slice:
    at = rng.randrange(len(data) + 1)
    return slice(at, at + rng.choice((1, 4, 40, 4_000)))


def _flip(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    if data:
        data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    at = _place(data, rng)
    new = rng.randbytes(rng.choice((1, 2, 8)))
    data[at : at + len(new)] = new


def _lie(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    at = _place(data, rng)
    data[at : at + 4] = struct.pack(rng.choice(("<I", ">I")), rng.choice(_LENGTHS))


def _break_off(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _lose(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    del data[_piece(data, rng)]


def _repeat(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    piece = _piece(data, rng)
    data[piece.start : piece.start] = data[piece] * rng.choice((1, 2, 20))


def _insert(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    at = _place(data, rng)
    data[at:at] = rng.randbytes(rng.choice((1, 3, 100)))


def _splice(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    other = rng.choice(others)
    at = _place(data, rng)
    data[at:at] = other[_piece(other, rng)]


def _reword(data: bytearray, _: Sequence[bytes], rng: random.Random) -> None:
    words = list(_WORD.finditer(data))[:1_000]
    if words:
        place = rng.choice(words)
        other = rng.choice(words).group() if rng.random() < 0.5 else rng.choice(_WORDS)
        data[place.start() : place.end()] = other


_CHANGES: tuple[Callable[[bytearray, Sequence[bytes], random.Random], None], ...] = (
    _flip,
    _overwrite,
    _lie,
    _break_off,
    _lose,
    _repeat,
    _insert,
    _splice,
    _reword,
    _reword,
)
