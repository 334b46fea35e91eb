"""Decodes packets of compressed audio with libavcodec, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import av
import av.error
import numpy as np

from pipelines.audio.formats import MAX_CHANNELS
from pipelines.audio.headers import check_header
from pipelines.audio.sample_decoder import PieceDecoder
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat

MAX_PACKET_BYTES: Final = 1 << 20
"""No packet is larger: two seconds of 32-bit samples on two channels at 48 kHz take less."""

_MAX_SILENT_PACKETS = 100
"""So many packets in a row of which nothing can be decoded are no audio: they would only keep the service busy."""

_SCALES: Final = {"u1": 1 << 7, "i2": 1 << 15, "i4": 1 << 31, "f4": 1, "f8": 1}


class PacketDecoder(PieceDecoder):
    """Base of decoders of compressed packets in a container.

    Args:
        promised: what the caller says of the audio. The header outranks the sample rate; a number of channels other
            than 0 must be that of the audio.
    """

    def __init__(self, promised: AudioFormat) -> None:
        super().__init__()
        self._promised = promised
        self._codec: av.AudioCodecContext | None = None
        self._channels = 0
        self._silent_packets = 0

    def begin_stream(self, codec: str, extradata: bytes = b"") -> None:
        """Make a decoder for the packets that follow.

        Args:
            codec: libavcodec's name of it.
            extradata: what it must know before the first packet.

        Raises:
            UndecodableAudioError: it does not accept ``extradata``.
        """
        context = av.CodecContext.create(codec, "r")
        assert isinstance(context, av.AudioCodecContext)
        context.thread_count = 1
        if extradata:
            context.extradata = extradata
        try:
            context.open()
        except (av.error.FFmpegError, ValueError) as error:
            raise UndecodableAudioError(
                f"the header of the audio is damaged: no {codec} decoder accepts it; encode it again"
            ) from error
        self._codec = context

    def decode_packet(self, packet: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield a packet's samples, float32 ``[samples, channels]``, unless damaged.

        Raises:
            UndecodableAudioError: the audio has a rate or a number of channels that is not served, or too many packets
                in a row are damaged.
        """
        if self._codec is None:
            raise UndecodableAudioError("the audio is damaged: a packet comes before the header; encode it again")
        frames: list[av.AudioFrame] = []
        try:
            frames = self._codec.decode(av.Packet(packet))
        except (av.error.FFmpegError, ValueError):
            self.note_damage("a part of the audio is damaged and was left out")
        self._silent_packets = 0 if frames else self._silent_packets + 1
        if self._silent_packets > _MAX_SILENT_PACKETS:
            raise UndecodableAudioError("the audio is damaged: many packets in a row hold none; encode it again")
        for frame in frames:
            if self._accepts(frame.sample_rate, frame.layout.nb_channels):
                yield self._as_before(to_float(frame))

    def _accepts(self, rate_hz: int, channels: int) -> bool:
        """Return whether a frame's format is that of those before.

        Damaged AAC decodes to dozens of channels, and PyAV reads beyond its memory where there are more than eight: no
        samples are taken from such a frame.
        """
        if not self._channels:
            check_header(self._promised, rate_hz, channels)
            self.sample_rate_hz, self._channels = rate_hz, channels
        if rate_hz == self.sample_rate_hz and 1 <= channels <= MAX_CHANNELS:
            return True
        self.note_damage("a part of the audio has another sample rate or number of channels and was left out")
        return False

    def _as_before(self, samples: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return samples on as many channels as the first ones."""
        if samples.shape[1] == self._channels:
            return samples
        return samples.mean(axis=1, keepdims=True) if self._channels == 1 else np.repeat(samples, 2, axis=1)


def to_float(frame: av.AudioFrame) -> npt.NDArray[np.float32]:
    """Return a frame on at most two channels as float32 ``[samples, channels]``."""
    samples, channels = frame.to_ndarray(), frame.layout.nb_channels
    rows = samples.T if frame.format.is_planar else samples.reshape(-1, channels)
    scale = _SCALES[rows.dtype.str[1:]]
    return rows.astype(np.float32) / np.float32(scale)
