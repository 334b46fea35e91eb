"""Decodes Opus in Ogg as it arrives; the channels are as its header says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import av
import av.error
import numpy as np

from pipelines.audio.headers import check_follows, check_header
from pipelines.audio.ogg import OggPacketReader
from pipelines.audio.sample_decoder import NO_BLOCK, PieceDecoder
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat


_HEAD: Final = b"OpusHead"
"""No packet of audio begins so: by RFC 6716, section 3.2.5, it would be one of 48 frames, eight times the longest."""

_HEAD_BYTES = 19


class OggOpusDecoder(PieceDecoder):
    """Decodes Opus (RFC 6716) in Ogg (RFC 7845) with libopus, packet by packet.

    Streams may follow one another, as from a client that records each press of its button as a file of its own.

    Args:
        promised: what the caller says of the audio; a number of channels other than 0 must be the header's.
    """

    sample_rate_hz = 48_000
    """Opus always decodes at 48 kHz, whatever rate its header names."""

    def __init__(self, promised: AudioFormat) -> None:
        self._promised = promised
        self._pages = OggPacketReader()
        self._codec: av.AudioCodecContext | None = None
        self._channels = 0
        self._tags_follow = False

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yields the packets that ``piece`` completes, float32 ``[samples, channels]`` each."""
        for packet in self._pages.feed(piece):
            if self._codec is None or packet.startswith(_HEAD):
                self._begin_stream(packet)
            elif self._tags_follow:
                self._tags_follow = False
            else:
                yield from self._decode_packet(packet)

    def flush(self) -> npt.NDArray[np.float32]:
        """Returns nothing; a stream that breaks off inside a page is refused."""
        if self._pages.pending:
            raise UndecodableAudioError("the Ogg stream breaks off inside a page")
        return NO_BLOCK

    def _begin_stream(self, packet: bytes) -> None:
        if not packet.startswith(_HEAD) or len(packet) < _HEAD_BYTES:
            raise UndecodableAudioError("the Ogg stream holds no Opus audio: its first packet is no OpusHead")
        channels = packet[9]
        check_header(self._promised, self.sample_rate_hz, channels)
        if self._channels:
            check_follows(self.sample_rate_hz, channels, self.sample_rate_hz, self._channels)
        self._channels, self._tags_follow = channels, True
        codec = av.CodecContext.create("libopus", "r")
        codec.extradata = packet
        assert isinstance(codec, av.AudioCodecContext)
        self._codec = codec

    def _decode_packet(self, packet: bytes) -> Iterator[npt.NDArray[np.float32]]:
        assert self._codec is not None
        try:
            frames = self._codec.decode(av.Packet(packet))
        except av.error.FFmpegError as error:
            raise UndecodableAudioError("an Opus packet is damaged: encode the audio again") from error
        for frame in frames:
            yield _to_float(frame)


def _to_float(frame: av.AudioFrame) -> npt.NDArray[np.float32]:
    """Returns a frame as float32 ``[samples, channels]``."""
    samples, channels = frame.to_ndarray(), frame.layout.nb_channels
    rows = samples.T if frame.format.is_planar else samples.reshape(-1, channels)
    # libopus is asked for nothing else, but may be built for 16-bit integers.
    scale = np.float32(1 if rows.dtype == np.float32 else 32768)
    return rows.astype(np.float32) / scale
