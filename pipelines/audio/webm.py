"""Incremental decoder of WebM and Matroska audio (RFC 9559)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipelines.audio.ebml import children, read_element, read_number
from pipelines.audio.packets import MAX_PACKET_BYTES, PacketDecoder
from pipelines.audio.sample_decoder import NO_BLOCK
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat

_EBML = 0x1A45DFA3
_SEGMENT = 0x18538067
_TRACKS = 0x1654AE6B
_TRACK = 0xAE
_NUMBER = 0xD7
_TYPE = 0x83
_CODEC = 0x86
_PRIVATE = 0x63A2
_ENCODINGS = 0x6D80
_CLUSTER = 0x1F43B675
_SIMPLE_BLOCK = 0xA3
_GROUP = 0xA0
_BLOCK = 0xA1
_ENTERED: Final = {_SEGMENT, _CLUSTER, _GROUP}
_HELD: Final = {_EBML, _TRACKS, _SIMPLE_BLOCK, _BLOCK}
_AUDIO = 2
_LACING = 6
_MAX_TRACKS_BYTES = 1 << 20
_BLOCK_HEAD_BYTES = 3
"""Behind the number of the track: time and flags."""

_CODECS: Final = {
    "A_OPUS": "libopus",
    "A_VORBIS": "vorbis",
    "A_AAC": "aac",
    "A_MPEG/L3": "mp3float",
}
"""libavcodec's names."""

_DAMAGED = "a part of the WebM stream is damaged and was left out"
_CUT = "the WebM stream breaks off: what came before is heard"


@dataclass(frozen=True, slots=True)
class _Track:
    number: int
    codec: str
    private: bytes


class WebmDecoder(PacketDecoder):
    """Decoder of the first audio track, packet by packet.

    Files may follow one another in one stream.

    Args:
        promised: what the caller says of the audio; a number of channels other than 0 must be that of the audio.
    """

    def __init__(self, promised: AudioFormat) -> None:
        super().__init__(promised)
        self._held = bytearray()
        self._skip = 0
        self._track: _Track | None = None
        self._lost = False

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield finished packets, float32 ``[samples, channels]`` each."""
        self._held += piece
        while (block := self._next_block()) is not None:
            for packet in self._packets(block):
                yield from self.decode_packet(packet)

    def flush(self) -> npt.NDArray[np.float32]:
        """Return nothing: a part of a packet is left out."""
        if self._track is None:
            raise UndecodableAudioError("the WebM audio ends inside its header: send all of it")
        if self._held or self._skip:
            self.note_damage(_CUT)
        return NO_BLOCK

    def _next_block(self) -> bytes | None:
        """Consume elements up to the next block; return its content, None if incomplete."""
        held = self._held
        while True:
            skipped = min(self._skip, len(held))
            del held[:skipped]
            self._skip -= skipped
            if self._skip or (element := read_element(held)) is None:
                return None
            if self._lost or not self._is_sound(element.id, element.size):
                if not self._find_cluster():
                    return None
                continue
            if element.id in _ENTERED:
                del held[: element.head]
                continue
            assert element.size is not None
            end = element.head + element.size
            if element.id not in _HELD:
                self._skip = end
                continue
            if len(held) < end:
                return None
            content = bytes(held[element.head : end])
            del held[:end]
            if element.id == _TRACKS:
                self._choose_track(content)
            elif element.id in {_SIMPLE_BLOCK, _BLOCK}:
                return content

    def _is_sound(self, identity: int, size: int | None) -> bool:
        """Return whether an element's head is plausible."""
        if not identity or (size is None and identity not in _ENTERED):
            return False
        largest = MAX_PACKET_BYTES if identity in {_SIMPLE_BLOCK, _BLOCK} else _MAX_TRACKS_BYTES
        return identity not in _HELD or (size or 0) <= largest

    def _find_cluster(self) -> bool:
        """Skip damage up to the next cluster; return False while it has not come."""
        if self._track is None:
            raise UndecodableAudioError("the WebM header is damaged: record it again")
        self.note_damage(_DAMAGED)
        mark = _CLUSTER.to_bytes(4, "big")
        found = self._held.find(mark, 0 if self._lost else 1)
        self._lost = found < 0
        del self._held[: found if found >= 0 else max(0, len(self._held) - len(mark) + 1)]
        return found >= 0

    def _choose_track(self, tracks: bytes) -> None:
        """Choose the first track of audio."""
        for identity, content in children(tracks):
            if identity != _TRACK:
                continue
            fields = dict(children(content))
            if int.from_bytes(fields.get(_TYPE, b""), "big") != _AUDIO:
                continue
            codec = fields.get(_CODEC, b"").rstrip(b"\0").decode("ascii", "replace")
            name = next((name for start, name in _CODECS.items() if codec.startswith(start)), None)
            if name is None or _ENCODINGS in fields:
                raise UndecodableAudioError(f"this is WebM with {codec}, which is not served: record Opus in WebM")
            number, private = int.from_bytes(fields.get(_NUMBER, b""), "big"), fields.get(_PRIVATE, b"")
            if self._track is None or (name, private) != (self._track.codec, self._track.private):
                self.begin_stream(name, private)
            self._track = _Track(number, name, private)
            return
        raise UndecodableAudioError("the WebM file holds no audio: choose one with a sound track")

    def _packets(self, block: bytes) -> list[bytes]:
        """Return the packets of a block; none where it is of another track."""
        number = read_number(block, 0)
        if self._track is None or number is None or number[0] != self._track.number:
            return []
        begin = number[1] + _BLOCK_HEAD_BYTES
        if len(block) <= begin:
            return []
        lacing = block[begin - 1] & _LACING
        packets = _unlaced(block[begin:], lacing) if lacing else [block[begin:]]
        if not packets:
            self.note_damage(_DAMAGED)
        return packets


def _unlaced(data: bytes, lacing: int) -> list[bytes]:
    """Return the packets of a block that holds several; none where it is damaged."""
    count, at = data[0] + 1, 1
    if lacing == 4:
        size = (len(data) - 1) // count
        return [data[at + size * one : at + size * (one + 1)] for one in range(count)] if size else []
    sizes: list[int] = []
    for _ in range(count - 1):
        read = _xiph_size(data, at) if lacing == 2 else _ebml_size(data, at, sizes[-1] if sizes else None)
        if read is None:
            return []
        sizes.append(read[0])
        at += read[1]
    if sum(sizes) >= len(data) - at:
        return []
    packets = []
    for size in (*sizes, len(data) - at - sum(sizes)):
        packets.append(data[at : at + size])
        at += size
    return packets


def _xiph_size(data: bytes, at: int) -> tuple[int, int] | None:
    """Return a size and the bytes that tell it."""
    end = at
    while end < len(data) and data[end] == 255:
        end += 1
    return (255 * (end - at) + data[end], end - at + 1) if end < len(data) else None


def _ebml_size(data: bytes, at: int, before: int | None) -> tuple[int, int] | None:
    """Return a size of lacing and its length; later ones are differences."""
    read = read_number(data, at)
    if read is None or not read[1]:
        return None
    number, length = read
    if before is not None:
        # An offset makes differences of either sign positive; -1 stands for the largest number.
        largest = (1 << 7 * length) - 1
        number = before + (largest if number < 0 else number) - ((1 << 7 * length - 1) - 1)
    return (number, length) if number > 0 else None
