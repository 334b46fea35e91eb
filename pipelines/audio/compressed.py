"""Decoders for FLAC and for Opus in Ogg, which tell rate and channels themselves."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

import av
import av.error
import numpy as np
import pyflac

from pipelines.audio.headers import check_header
from pipelines.audio.ogg import OggPacketReader
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat

_NOTHING = np.zeros((0, 1), np.float32)

_STREAMINFO_END = 26
"""Bytes from the start of a FLAC stream to the end of the fields that are read of its STREAMINFO block."""

_FLAC_BITS = frozenset({16, 32})
"""Bits a sample that the decoder hands on."""


class FlacDecoder:
    """Decodes FLAC (RFC 9639) with libFLAC, whose thread decodes while the next piece is on its way.

    What a piece completes may therefore be returned with a later one; :meth:`flush` waits for the rest.
    """

    def __init__(self, audio_format: AudioFormat) -> None:
        self.sample_rate_hz = audio_format.sample_rate_hz
        self._promised = audio_format
        self._head: bytes | None = b""
        self._blocks: queue.SimpleQueue[npt.NDArray[np.int16 | np.int32]] = queue.SimpleQueue()
        self._decoder = pyflac.StreamDecoder(write_callback=self._take_block)

    def __del__(self) -> None:
        # The decoder's thread waits for bytes until it is told that there are no more.
        if self._decoder is not None:
            self._end()

    def decode(self, data: bytes) -> npt.NDArray[np.float32]:
        """Decodes ``data``: float32 ``[samples, channels]``."""
        if self._head is not None:
            self._head += data
            if len(self._head) < _STREAMINFO_END:
                return _NOTHING
            self.sample_rate_hz = _read_streaminfo(self._head, self._promised)
            data, self._head = self._head, None
        self._decoder.process(data)
        return self._drain()

    def flush(self) -> npt.NDArray[np.float32]:
        """Waits for the decoder's thread and returns what it still had."""
        if self._head is not None:
            if not self._head:
                return _NOTHING
            raise UndecodableAudioError("the FLAC audio ends inside its header")
        if not self._end():
            raise UndecodableAudioError("the FLAC audio is damaged: encode it again")
        return self._drain()

    def _end(self) -> bool:
        """Tells the decoder's thread that nothing follows and waits for it; returns whether all went well."""
        decoder, self._decoder = self._decoder, None
        try:
            decoder.finish()
        except (pyflac.DecoderProcessException, pyflac.DecoderInitException):
            return False
        return True

    def _take_block(self, block: npt.NDArray[np.int16 | np.int32], _rate: int, _channels: int, _samples: int) -> None:
        self._blocks.put(block)

    def _drain(self) -> npt.NDArray[np.float32]:
        blocks = []
        while not self._blocks.empty():
            block = self._blocks.get()
            blocks.append(block.astype(np.float32) / -float(np.iinfo(block.dtype).min))
        return np.concatenate(blocks) if blocks else _NOTHING


def _read_streaminfo(head: bytes, promised: AudioFormat) -> int:
    """Checks the first metadata block of a FLAC stream (RFC 9639, section 8.2); returns the sample rate in Hz."""
    if head[:4] != b"fLaC":
        raise UndecodableAudioError("the audio is no FLAC stream: send it from its header on, or name its encoding")
    # 20 bits sample rate, 3 bits channels - 1, 5 bits bits-per-sample - 1
    packed = int.from_bytes(head[_STREAMINFO_END - 8 : _STREAMINFO_END - 4], "big")
    rate, channels, bits = packed >> 12, (packed >> 9 & 7) + 1, (packed >> 4 & 31) + 1
    check_header(promised, rate, channels)
    if bits not in _FLAC_BITS:
        raise UndecodableAudioError(f"FLAC with {bits} bits a sample is not served: encode it with 16")
    return rate


class OggOpusDecoder:
    """Decodes Opus (RFC 6716) in Ogg (RFC 7845) with libavcodec, packet by packet."""

    sample_rate_hz = 48_000
    """Opus always decodes at 48 kHz, whatever rate its header names."""

    def __init__(self, audio_format: AudioFormat) -> None:
        self._promised = audio_format
        self._pages = OggPacketReader()
        self._codec: av.AudioCodecContext | None = None
        self._headers_left = 2

    def decode(self, data: bytes) -> npt.NDArray[np.float32]:
        """Decodes ``data``: float32 ``[samples, channels]``."""
        frames = []
        for packet in self._pages.feed(data):
            if self._headers_left:
                self._read_header(packet)
            else:
                frames += self._decode_packet(packet)
        return np.concatenate(frames) if frames else _NOTHING

    def flush(self) -> npt.NDArray[np.float32]:
        """Returns nothing; a stream that breaks off inside a page is refused."""
        if self._pages.pending:
            raise UndecodableAudioError("the Ogg stream breaks off inside a page")
        return _NOTHING

    def _read_header(self, packet: bytes) -> None:
        self._headers_left -= 1
        if self._codec is not None:
            return  # OpusTags: names and comments
        if not packet.startswith(b"OpusHead") or len(packet) < 19:
            raise UndecodableAudioError("the Ogg stream holds no Opus audio: its first packet is no OpusHead")
        check_header(self._promised, self.sample_rate_hz, packet[9])
        codec = av.CodecContext.create("libopus", "r")
        codec.extradata = packet
        assert isinstance(codec, av.AudioCodecContext)
        self._codec = codec

    def _decode_packet(self, packet: bytes) -> list[npt.NDArray[np.float32]]:
        assert self._codec is not None
        try:
            frames = self._codec.decode(av.Packet(packet))
        except av.error.FFmpegError as error:
            raise UndecodableAudioError("an Opus packet is damaged: encode the audio again") from error
        return [_to_float(frame) for frame in frames]


def _to_float(frame: av.AudioFrame) -> npt.NDArray[np.float32]:
    """Returns a frame as float32 ``[samples, channels]``."""
    samples, channels = frame.to_ndarray(), frame.layout.nb_channels
    rows = samples.T if frame.format.is_planar else samples.reshape(-1, channels)
    # libopus is asked for nothing else, but may be built for 16-bit integers.
    scale = np.float32(1 if rows.dtype == np.float32 else 32768)
    return rows.astype(np.float32) / scale
