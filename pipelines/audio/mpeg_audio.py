"""Decodes MP3, the other layers of MPEG audio, and AAC in ADTS as they arrive."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.audio.mpeg_frames import HEADER_BYTES, FrameHeader, read_frame_header
from pipelines.audio.packets import PacketDecoder
from pipelines.audio.sample_decoder import NO_BLOCK
from pipelines.audio.tags import TagSkipper

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat

_BEGINNING = re.compile(rb"\xff(?:[\xf0\xf1\xf8\xf9]|[\xe0-\xff][\x10-\xef])|TAG|ID3")
"""Of a frame or a tag."""
_BEGINNING_BYTES = 3
_DAMAGED = "a part of the audio is damaged and was left out"
_CUT = "the audio breaks off inside a frame: what came before it is heard"


class FramesDecoder(PacketDecoder):
    """Decoder of frames without a container.

    Files may follow one another in one stream, with their tags.

    Args:
        promised: what the caller says of the audio; a number of channels other than 0 must be that of the audio.
    """

    def __init__(self, promised: AudioFormat) -> None:
        super().__init__(promised)
        self._held = bytearray()
        self._tags = TagSkipper()
        self._first: FrameHeader | None = None
        self._lost = False

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield finished frames, float32 ``[samples, channels]`` each."""
        self._held += piece
        while (frame := self._next_frame()) is not None:
            yield from self.decode_packet(frame)

    def flush(self) -> npt.NDArray[np.float32]:
        """Return nothing: a part of a frame is left out."""
        # The padding of some writers is no part of a frame.
        if self._held.strip(b"\0") and not self._lost:
            self.note_damage(_CUT)
        return NO_BLOCK

    def _next_frame(self) -> bytes | None:
        """Take the next frame away; None where it is not whole yet."""
        held = self._held
        while True:
            if not self._tags.skip(held):
                return None
            if len(held) < HEADER_BYTES:
                return None
            header = read_frame_header(held)
            if header is None or (self._first is not None and not header.follows(self._first)):
                self._go_on()
                continue
            if len(held) < header.frame_bytes:
                return None
            if self._lost and not self._is_followed(header):
                if len(held) < header.frame_bytes + HEADER_BYTES:
                    return None
                self._go_on()
                continue
            self._lost = False
            if self._first is None:
                self._first = header
                self.begin_stream(header.codec)
            frame = bytes(held[: header.frame_bytes])
            del held[: header.frame_bytes]
            return frame

    def _is_followed(self, header: FrameHeader) -> bool:
        """Return whether another frame follows; behind damage it must."""
        following = read_frame_header(self._held[header.frame_bytes : header.frame_bytes + HEADER_BYTES])
        return following is not None and following.follows(header)

    def _go_on(self) -> None:
        """Go on to where the next frame may begin."""
        if self._held[0]:
            self.note_damage(_DAMAGED)
        self._lost = True
        found = _BEGINNING.search(self._held, 1)
        if found is not None:
            del self._held[: found.start()]
            return
        # The last bytes may be the beginning of one.
        del self._held[: max(1, len(self._held) - _BEGINNING_BYTES + 1)]
