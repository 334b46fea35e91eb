"""Incremental FLAC decoder (RFC 9639)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.audio.flac_frames import FrameDecoder
from pipelines.audio.flac_header import MARKER, FlacHeader
from pipelines.audio.headers import check_follows
from pipelines.audio.sample_decoder import NO_BLOCK, PieceDecoder
from pipelines.audio.tags import TagSkipper
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat


class FlacDecoder(PieceDecoder):
    """FLAC decoder; every frame comes with the piece that completes it.

    Streams may follow one another, as from a client that records each press of its button as a file of its own.

    Args:
        promised: what the caller says of the audio. The header outranks the sample rate; a number of channels other
            than 0 must be the header's.
    """

    def __init__(self, promised: AudioFormat) -> None:
        super().__init__()
        self._header = FlacHeader(promised)
        self._tags = TagSkipper()
        self._promised = promised
        self._frames: FrameDecoder | None = None
        self._channels = 0
        self._held = bytearray()

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield finished frames, float32 ``[samples, channels]`` each."""
        self._held += piece
        while (frame := self._next_frame()) is not None:
            yield frame

    def flush(self) -> npt.NDArray[np.float32]:
        """Return nothing: whole frames came before, and a part is left out."""
        if self._frames is None and (self._held or self._header.bare):
            raise UndecodableAudioError("the FLAC audio ends inside its header")
        return NO_BLOCK

    def _next_frame(self) -> npt.NDArray[np.float32] | None:
        """Decode the next frame; None while it is incomplete."""
        # Frames begin with other bytes than tags and streams: RFC 9639, section 9.1.1.
        if (self._frames is not None or not self._header.bare) and not self._tags.skip(self._held):
            return None
        if self._frames is not None and self._held.startswith(MARKER[:1]):
            self._header, self._frames = FlacHeader(self._promised), None
        if self._frames is None:
            if not self._header.read(self._held):
                return None
            self._begin_stream()
        assert self._frames is not None
        return self._frames.next_frame(self._held) if self._held else None

    def _begin_stream(self) -> None:
        rate, channels = self._header.sample_rate_hz, self._header.channels
        if self._channels:
            check_follows(rate, channels, self.sample_rate_hz, self._channels)
        self.sample_rate_hz, self._channels = rate, channels
        self._frames = FrameDecoder(self._header)
