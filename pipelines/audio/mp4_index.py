"""Packet index of MP4 audio (ISO/IEC 14496-12 and 14496-14)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

_OBJECT_TYPES: Final = {0x40: "aac", 0x66: "aac", 0x67: "aac", 0x68: "aac", 0x69: "mp3float", 0x6B: "mp3float"}
_DECODER_CONFIG = 4
_DECODER_SPECIFIC = 5
_ELEMENTARY_STREAM = 3
_ENTRY_BYTES = 28
"""Of a description of audio, before the boxes in it."""


class Place(NamedTuple):
    """Place of a packet in the file."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Track:
    """A track of audio.

    Attributes:
        number: its ID.
        codec: libavcodec's name of it.
        extradata: what the decoder must know.
        default_size: size of a packet in fragments that do not tell; 0 for none.
        table: the boxes that tell where the packets lie.
    """

    number: int
    codec: str
    extradata: bytes
    default_size: int
    table: dict[bytes, bytes]


def boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and the content of each whole box in ``data``."""
    at = 0
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1 and at + 16 <= len(data):
            (size,) = struct.unpack_from(">Q", data, at + 8)
            head = 16
        end = at + size if size else len(data)
        if end < at + head or end > len(data):
            return
        yield name, data[at + head : end]
        at = end


def audio_track(movie: bytes) -> Track:
    """Return the first track of audio; ``movie`` is the content of the box ``moov``.

    Raises:
        UndecodableAudioError: there is none, or none that is served.
    """
    sizes = _default_sizes(movie)
    for name, content in boxes(movie):
        if name != b"trak":
            continue
        track = dict(boxes(content))
        media = dict(boxes(track.get(b"mdia", b"")))
        if media.get(b"hdlr", b"")[8:12] != b"soun":
            continue
        table = dict(boxes(dict(boxes(media.get(b"minf", b""))).get(b"stbl", b"")))
        codec, extradata = _codec(table.get(b"stsd", b""))
        header = track.get(b"tkhd", b"")
        at = 20 if header[:1] == b"\1" else 12
        number = int.from_bytes(header[at : at + 4], "big")
        return Track(number, codec, extradata, sizes.get(number, 0), table)
    raise UndecodableAudioError("the MP4 file holds no audio: choose one with a sound track")


def indexed_places(table: dict[bytes, bytes]) -> Iterator[Place]:
    """Yield the packets' places by the tables of an unfragmented file."""
    sizes, chunks = table.get(b"stsz", b""), table.get(b"stsc", b"")
    if len(sizes) < 12:
        return
    constant, count = struct.unpack_from(">II", sizes, 4)
    each = np.frombuffer(sizes, ">u4", offset=12, count=(len(sizes) - 12) // 4)
    count = count if constant else min(count, len(each))
    runs = np.frombuffer(chunks[8 : len(chunks) - len(chunks[8:]) % 12], ">u4").reshape(-1, 3)
    run, packet = 0, 0
    for number, start in enumerate(_chunk_offsets(table), start=1):
        while run + 1 < len(runs) and runs[run + 1][0] <= number:
            run += 1
        if run >= len(runs):
            return
        offset = start
        for _ in range(min(int(runs[run][1]), count - packet)):
            size = constant or int(each[packet])
            yield Place(offset, size)
            packet += 1
            offset += size


def fragment_places(fragment: bytes, begin: int, track: Track) -> Iterator[Place]:
    """Yield the packets' places of a fragment: content of ``moof`` at ``begin``."""
    for name, content in boxes(fragment):
        if name != b"traf":
            continue
        parts = list(boxes(content))
        header = dict(parts).get(b"tfhd", b"")
        if len(header) < 8 or int.from_bytes(header[4:8], "big") != track.number:
            continue
        base, default_size = _fragment_header(header, begin, track.default_size)
        end = base
        for part, body in parts:
            if part == b"trun" and len(body) >= 8:
                offset, sizes = _run(body, base, end, default_size)
                for size in sizes:
                    yield Place(offset, size)
                    offset += size
                end = offset


def _fragment_header(header: bytes, begin: int, default_size: int) -> tuple[int, int]:
    """Return the base offset and default packet size."""
    flags, at, base = int.from_bytes(header[1:4], "big"), 8, begin
    if flags & 1:
        base = int.from_bytes(header[at : at + 8], "big")
        at += 8
    at += 4 * bool(flags & 2) + 4 * bool(flags & 8)
    if flags & 0x10 and len(header) >= at + 4:
        default_size = int.from_bytes(header[at : at + 4], "big")
    return base, default_size


def _run(body: bytes, base: int, end: int, default_size: int) -> tuple[int, Iterator[int]]:
    """Return where a run begins, and the sizes of its packets."""
    flags, count = int.from_bytes(body[1:4], "big"), int.from_bytes(body[4:8], "big")
    at, offset = 8, end
    if flags & 1:
        offset = base + int.from_bytes(body[at : at + 4], "big", signed=True)
        at += 4
    at += 4 * bool(flags & 4)
    fields = [bit for bit in (0x100, 0x200, 0x400, 0x800) if flags & bit]
    if 0x200 not in fields:
        # A run of packets that are nowhere would be counted for nothing.
        return offset, (default_size for _ in range(count if default_size else 0))
    rows = np.frombuffer(body, ">u4", offset=min(at, len(body)), count=max(0, len(body) - at) // 4)
    rows = rows[: len(rows) // len(fields) * len(fields)].reshape(-1, len(fields))
    column: npt.NDArray[np.uint32] = rows[:count, fields.index(0x200)]
    return offset, (int(size) for size in column)


def _chunk_offsets(table: dict[bytes, bytes]) -> Iterator[int]:
    for name, kind, size in ((b"stco", ">u4", 4), (b"co64", ">u8", 8)):
        if len(body := table.get(name, b"")) > 8:
            yield from map(int, np.frombuffer(body, kind, offset=8, count=(len(body) - 8) // size))
            return


def _default_sizes(movie: bytes) -> dict[int, int]:
    """Return the size of packets in fragments by track."""
    found = {}
    for name, body in boxes(dict(boxes(movie)).get(b"mvex", b"")):
        if name == b"trex" and len(body) >= 20:
            found[int.from_bytes(body[4:8], "big")] = int.from_bytes(body[16:20], "big")
    return found


def _codec(descriptions: bytes) -> tuple[str, bytes]:
    """Return libavcodec's codec name and its extra data."""
    name, entry = next(boxes(descriptions[8:]), (b"", b""))
    # QuickTime has longer descriptions in its versions 1 and 2.
    version = int.from_bytes(entry[8:10], "big")
    inner = dict(boxes(entry[_ENTRY_BYTES + {1: 16, 2: 36}.get(version, 0) :]))
    inner = {**dict(boxes(inner.get(b"wave", b""))), **inner}
    if name == b"mp4a" and b"esds" in inner:
        kind, extradata = _elementary_stream(inner[b"esds"][4:])
        if kind in _OBJECT_TYPES and (extradata or _OBJECT_TYPES[kind] != "aac"):
            return _OBJECT_TYPES[kind], extradata
        raise UndecodableAudioError(f"this is MP4 with audio of type 0x{kind:02x}, which is not served: send AAC")
    if name == b"Opus" and len(opus := inner.get(b"dOps", b"")) >= 11:
        middle = struct.pack("<HIH", *struct.unpack(">HIH", opus[2:10]))
        return "libopus", b"OpusHead\1" + opus[1:2] + middle + opus[10:]
    if name == b"alac" and (alac := inner.get(b"alac")):
        return "alac", struct.pack(">I4s", len(alac) + 8, b"alac") + alac
    if name == b".mp3":
        return "mp3float", b""
    told = {b"ac-3": "Dolby Digital", b"ec-3": "Dolby Digital Plus", b"enca": "encrypted audio", b"samr": "AMR"}
    found = told.get(name, name.decode("ascii", "replace").strip() or "no description of its audio")
    raise UndecodableAudioError(f"this is MP4 with {found}, which is not served: send AAC, Opus or Apple Lossless")


def _elementary_stream(data: bytes) -> tuple[int, bytes]:
    """Return object type and configuration of an elementary stream (14496-1)."""
    kind, extradata = 0, b""
    while len(data) >= 2:
        tag, at, size = data[0], 1, 0
        for _ in range(4):
            if at >= len(data):
                return kind, extradata
            size = size << 7 | data[at] & 0x7F
            at += 1
            if not data[at - 1] & 0x80:
                break
        body = data[at : at + size]
        if tag == _ELEMENTARY_STREAM and len(body) >= 3:
            flags = body[2]
            at += 3 + 2 * bool(flags & 0x80) + 2 * bool(flags & 0x20)
            if flags & 0x40 and len(body) >= 4:
                at += 1 + body[3]
            data = data[at:]
        elif tag == _DECODER_CONFIG and body:
            kind, data = body[0], data[at + 13 :]
        elif tag == _DECODER_SPECIFIC:
            return kind, body
        else:
            data = data[at + size :]
    return kind, extradata
