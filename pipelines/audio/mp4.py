"""Incremental decoder of MP4, M4A and QuickTime, also fragmented."""

from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING, Final

from pipelines.audio.mp4_index import Place, Track, audio_track, fragment_places, indexed_places
from pipelines.audio.packets import MAX_PACKET_BYTES, PacketDecoder
from pipelines.audio.sample_decoder import NO_BLOCK, PIECE_BYTES
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat

MAX_HELD_BYTES: Final = 16 << 20
"""What is held of a file whose index comes last: half an hour of AAC at 64 kbit/s."""

_MAX_INDEX_BYTES = 8 << 20
_MAX_EMPTY_PACKETS = 10_000
_BOX_HEAD_BYTES = 8
_LONG_BOX_HEAD_BYTES = 16
_ENDLESS = 1 << 62


class Mp4Decoder(PacketDecoder):
    """Decoder of the first audio track, packet by packet.

    Packets are decoded as they come where the index (the box ``moov``) precedes them. Where it comes last, the file is
    held until then, up to :data:`MAX_HELD_BYTES`.

    Args:
        promised: what the caller says of the audio; a number of channels other than 0 must be that of the audio.
    """

    def __init__(self, promised: AudioFormat) -> None:
        super().__init__(promised)
        self._held = bytearray()
        self._base = 0
        """Place of the first byte that is held."""
        self._box = 0
        """Place of the next box."""
        self._media: int | None = None
        """Place of the first media whose index has not come."""
        self._file = 0
        """Place that the offsets in the index count from."""
        self._track: Track | None = None
        self._runs: deque[Iterator[Place]] = deque()
        self._next: Place | None = None
        self._empty = 0

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield finished packets, float32 ``[samples, channels]`` each."""
        self._held += piece
        while True:
            yield from self._decode_held()
            self._forget()
            if not self._read_box():
                break
        if len(self._held) > MAX_HELD_BYTES:
            raise UndecodableAudioError(
                f"the index of this MP4 file comes behind {MAX_HELD_BYTES >> 20} MiB of audio: put it in front "
                "(`ffmpeg -i IN -c copy -movflags +faststart OUT`), or send WAV, FLAC or Ogg Opus"
            )

    def flush(self) -> npt.NDArray[np.float32]:
        """Return nothing: a part of a packet is left out."""
        if self._track is None:
            raise UndecodableAudioError("the MP4 file ends before its index, the box moov: send all of it")
        if self._place() is not None or (self._box < _ENDLESS and self._box > self._base + len(self._held)):
            self.note_damage("the MP4 file breaks off: what came before is heard")
        return NO_BLOCK

    def _pieces_at_once(self) -> int:
        """Return the number of pieces that the next one may complete."""
        return 1 + len(self._held) // PIECE_BYTES

    def _read_box(self) -> bool:
        """Read the next box but media; return False while it is incomplete."""
        at = self._box - self._base
        head = bytes(self._held[at : at + _LONG_BOX_HEAD_BYTES]) if at >= 0 else b""
        if len(head) < _BOX_HEAD_BYTES:
            return False
        size, name = struct.unpack_from(">I4s", head)
        begin = _BOX_HEAD_BYTES
        if size == 1:
            if len(head) < _LONG_BOX_HEAD_BYTES:
                return False
            (size,) = struct.unpack_from(">Q", head, _BOX_HEAD_BYTES)
            begin = _LONG_BOX_HEAD_BYTES
        size = size or _ENDLESS
        if size < begin:
            raise UndecodableAudioError("the MP4 file is damaged: a box is shorter than its own header")
        if name in {b"moov", b"moof"}:
            if size > _MAX_INDEX_BYTES:
                raise UndecodableAudioError(f"the MP4 file is damaged: its index has over {_MAX_INDEX_BYTES >> 20} MiB")
            if len(self._held) < at + size:
                return False
            self._read_index(name, bytes(self._held[at + begin : at + size]))
        elif name == b"ftyp" and self._track is not None and self._place() is None:
            # Another file follows; its offsets count from its own beginning.
            self._file, self._track, self._media = self._box, None, None
        elif name == b"mdat" and self._track is None and self._media is None:
            self._media = self._box + begin
        self._box += size
        return True

    def _read_index(self, name: bytes, content: bytes) -> None:
        if name == b"moov":
            track = audio_track(content)
            before, self._track = self._track, track
            if before is None:
                self.begin_stream(track.codec, track.extradata)
                self._runs.append(indexed_places(track.table))
        elif self._track is not None:
            self._runs.append(fragment_places(content, self._box - self._file, self._track))

    def _place(self) -> Place | None:
        """Return where the next packet lies; None where no index tells of one."""
        while self._next is None and self._runs:
            self._next = next(self._runs[0], None)
            if self._next is None:
                self._runs.popleft()
            elif not self._next.size:
                self._pass_empty()
        return self._next

    def _pass_empty(self) -> None:
        """Skip an empty packet; millions of them would be a waste."""
        self._next = None
        self._empty += 1
        if self._empty > _MAX_EMPTY_PACKETS:
            raise UndecodableAudioError("the MP4 file is damaged: its index tells of many packets without content")

    def _decode_held(self) -> Iterator[npt.NDArray[np.float32]]:
        while (place := self._place()) is not None:
            at = self._file + place.offset - self._base
            if at < 0 or place.size > MAX_PACKET_BYTES:
                raise UndecodableAudioError("the MP4 file is damaged: its index points to where no packet can be")
            # What lies behind the next box is not read over it.
            if at + place.size > min(len(self._held), self._box - self._base):
                return
            self._next = None
            packet = bytes(self._held[at : at + place.size])
            self._drop(at + place.size)
            yield from self.decode_packet(packet)

    def _forget(self) -> None:
        """Let go of what is not needed any more."""
        keep = min(self._box, self._base + len(self._held))
        if self._track is None and self._media is not None:
            keep = min(keep, self._media)
        elif (place := self._place()) is not None:
            keep = min(keep, self._file + place.offset)
        if keep > self._base:
            self._drop(keep - self._base)

    def _drop(self, count: int) -> None:
        del self._held[:count]
        self._base += count
