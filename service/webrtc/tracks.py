"""Opus on the two tracks of a call."""

from __future__ import annotations

import asyncio
import fractions
from typing import TYPE_CHECKING, Any, Literal

from aiortc import MediaStreamTrack
from av import AudioFrame, CodecContext, FFmpegError, Packet

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import AudioFormat, Encoding
from service.sessions.reply_queue import FRAME_SECONDS, ReplyQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from av.audio.codeccontext import AudioCodecContext

    from service.webrtc.packets import Packet as RtpPacket

CLOCK_HZ = 48_000
"""Of Opus in RTP, whatever it was made of (RFC 7587)."""
SPOKEN_HZ = 24_000
HEARD = AudioFormat(Encoding.LINEAR_PCM, CLOCK_HZ)
SPOKEN = SpeechFormat(Encoding.LINEAR_PCM, SPOKEN_HZ)
_FRAME_SAMPLES = round(SPOKEN_HZ * FRAME_SECONDS)
_FRAME_BYTES = 2 * _FRAME_SAMPLES
_BIT_RATE = 32_000
_SILENT_FRAME = b"\xf8\xff\xfe"
"""20 ms of nothing in Opus, so that silence costs no encoding."""
_LATE_SECONDS = 0.1
_MAX_GAP_SAMPLES = CLOCK_HZ
"""A longer gap is no loss: the sender has begun a clock anew."""


class OpusListener:
    """Decoder of what is heard; lost packets become silence.

    Args:
        hear: takes 16-bit samples at 48 kHz.
    """

    def __init__(self, hear: Callable[[bytes], None]) -> None:
        self._hear = hear
        self._decoder: AudioCodecContext = _codec("r", CLOCK_HZ)
        self._expected: int | None = None

    def listen(self, packet: RtpPacket) -> None:
        """Decode the next packet."""
        gap = 0 if self._expected is None else (packet.timestamp - self._expected) % (1 << 32)
        if 0 < gap <= _MAX_GAP_SAMPLES:
            self._hear(bytes(2 * gap))
        try:
            frames = self._decoder.decode(Packet(packet.payload)) if packet.payload else []
        except FFmpegError:
            frames = []  # It is as good as lost.
        samples = 0
        for frame in frames:
            samples += frame.samples
            self._hear(bytes(frame.planes[0])[: 2 * frame.samples])
        self._expected = (packet.timestamp + samples) % (1 << 32)


class SpeechTrack(MediaStreamTrack):
    """Speaks what is queued, and is silent otherwise.

    Args:
        speech: the queue, of `SPOKEN`.
    """

    kind = "audio"

    def __init__(self, speech: ReplyQueue) -> None:
        super().__init__()
        self._speech = speech
        self._encoder: AudioCodecContext = _codec("w", SPOKEN_HZ)
        self._encoder.bit_rate = _BIT_RATE
        self._encoder.time_base = fractions.Fraction(1, SPOKEN_HZ)
        self._encoder.options = {"application": "voip", "compression_level": "5"}
        self._due: float | None = None
        self._at = 0

    async def recv(self) -> Packet[Any]:
        """Return the next 20 ms when they are due; see aiortc."""
        now = asyncio.get_running_loop().time()
        due = now if self._due is None or now > self._due + _LATE_SECONDS else self._due
        self._due = due + FRAME_SECONDS
        await asyncio.sleep(due - now)
        packet = Packet(self._encoded(self._speech.take()))
        packet.pts, packet.time_base = self._at, fractions.Fraction(1, CLOCK_HZ)
        self._at += 2 * _FRAME_SAMPLES
        return packet

    def _encoded(self, audio: bytes) -> bytes:
        if not audio:
            return _SILENT_FRAME
        frame = AudioFrame("s16", "mono", _FRAME_SAMPLES)
        frame.planes[0].update(audio.ljust(_FRAME_BYTES, b"\0"))
        frame.sample_rate = SPOKEN_HZ
        frame.pts, frame.time_base = self._at // 2, fractions.Fraction(1, SPOKEN_HZ)
        packets = self._encoder.encode(frame)
        return bytes(packets[0]) if packets else _SILENT_FRAME


def _codec(mode: Literal["r", "w"], rate_hz: int) -> AudioCodecContext:
    codec = CodecContext.create("libopus", mode)
    codec.format, codec.layout, codec.sample_rate = "s16", "mono", rate_hz
    return codec
