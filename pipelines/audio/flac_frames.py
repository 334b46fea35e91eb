"""Decodes FLAC frames with libFLAC at the moment they are whole.

libFLAC asks for bytes in the middle of its work and has no way to say "not yet": pyflac's own decoder waits for them in
a thread, and nobody can tell when that has caught up. Here libFLAC is driven through pyflac's binding without a thread:
a frame whose end is not there yet is given up and begun anew when more bytes have come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from pyflac._decoder import ffi, lib

from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    import numpy.typing as npt

    from pipelines.audio.flac_header import FlacHeader

_MAX_FRAME_BYTES = 1 << 20
"""No frame is larger: 65,535 samples of 33 bits on two channels make 528 KiB as they are."""

_SAMPLE_BYTES = 4
"""libFLAC hands samples on as 32-bit integers, whatever their size."""


class FrameDecoder:
    """Decodes the frames of one FLAC stream (RFC 9639, section 9), one at a time.

    Args:
        header: of that stream, read to its end.
    """

    def __init__(self, header: FlacHeader) -> None:
        self._exchange = _Exchange(header)
        self._handle = ffi.new_handle(self._exchange)
        self._decoder = ffi.gc(lib.FLAC__stream_decoder_new(), lib.FLAC__stream_decoder_delete)
        lib.FLAC__stream_decoder_init_stream(
            self._decoder, _READ, ffi.NULL, _TELL, ffi.NULL, ffi.NULL, _WRITE, ffi.NULL, _ERROR, self._handle
        )
        if not lib.FLAC__stream_decoder_process_until_end_of_metadata(self._decoder):
            raise _damaged()
        self._start_anew()

    def next_frame(self, held: bytearray) -> npt.NDArray[np.float32] | None:
        """Take the frame at the beginning of ``held`` away and decode it.

        Args:
            held: what has come of the stream, from the end of the last frame on; at its end bytes may be added
                between two calls.

        Returns:
            float32 ``[samples, channels]``; None where the frame is not whole yet.

        Raises:
            UndecodableAudioError: it is damaged, or contradicts the header of its stream.
        """
        exchange = self._exchange
        exchange.held, exchange.frame, exchange.starved = held, None, False
        lib.FLAC__stream_decoder_process_single(self._decoder)
        if exchange.damaged or (exchange.starved and len(held) > _MAX_FRAME_BYTES):
            raise _damaged()
        if exchange.starved:
            self._start_anew()
            return None
        # A damage that libFLAC has no name for ends it without a frame.
        if exchange.frame is None:
            raise _damaged()
        consumed = self._position()
        del held[:consumed]
        exchange.given -= consumed
        return exchange.frame

    def _start_anew(self) -> None:
        """Let libFLAC forget all bytes that it was given and has not decoded."""
        lib.FLAC__stream_decoder_flush(self._decoder)
        self._exchange.given = 0

    def _position(self) -> int:
        """Return how many of the held bytes libFLAC has decoded; it may have read on."""
        position = ffi.new("FLAC__uint64 *")
        lib.FLAC__stream_decoder_get_decode_position(self._decoder, position)
        return int(position[0])


class _FrameHeader(Protocol):
    """libFLAC's header of a frame."""

    sample_rate: int
    channels: int
    blocksize: int
    bits_per_sample: int


class _Frame(Protocol):
    """libFLAC's frame."""

    header: _FrameHeader


class _Exchange:
    """Data exchanged with libFLAC's callbacks.

    Attributes:
        held: bytes to decode.
        given: how many of them libFLAC has been given.
        frame: what it decoded, float32 ``[samples, channels]``.
        starved: whether it asked for more than there are.
        damaged: whether it complained, or decoded what the header of the stream rules out.
    """

    def __init__(self, header: FlacHeader) -> None:
        self.held = bytearray(header.bare)
        self.given = 0
        self.frame: npt.NDArray[np.float32] | None = None
        self.starved = False
        self.damaged = False
        self._shape = header.sample_rate_hz, header.channels

    def read(self, buffer: object, size: MutableSequence[int]) -> int:
        """Give libFLAC as many bytes as are there, up to ``size[0]``."""
        piece = self.held[self.given : self.given + size[0]]
        size[0] = len(piece)
        if not piece:
            self.starved = True
            return int(lib.FLAC__STREAM_DECODER_READ_STATUS_ABORT)
        ffi.memmove(buffer, piece, len(piece))
        self.given += len(piece)
        return int(lib.FLAC__STREAM_DECODER_READ_STATUS_CONTINUE)

    def write(self, header: _FrameHeader, rows: Sequence[object]) -> int:
        """Take one frame over from libFLAC."""
        if (header.sample_rate, header.channels) != self._shape:
            self.damaged = True
            return int(lib.FLAC__STREAM_DECODER_WRITE_STATUS_ABORT)
        frame = np.empty((header.blocksize, header.channels), np.float32)
        for channel in range(header.channels):
            frame[:, channel] = np.frombuffer(ffi.buffer(rows[channel], _SAMPLE_BYTES * header.blocksize), np.int32)
        frame *= np.float32(0.5 ** (header.bits_per_sample - 1))
        self.frame = frame
        return int(lib.FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE)


def _damaged() -> UndecodableAudioError:
    return UndecodableAudioError("the FLAC audio is damaged: encode it again")


def _read(_decoder: object, buffer: object, size: MutableSequence[int], handle: object) -> int:
    exchange: _Exchange = ffi.from_handle(handle)
    return exchange.read(buffer, size)


def _tell(_decoder: object, position: MutableSequence[int], handle: object) -> int:
    position[0] = ffi.from_handle(handle).given
    return int(lib.FLAC__STREAM_DECODER_TELL_STATUS_OK)


def _write(_decoder: object, frame: _Frame, rows: Sequence[object], handle: object) -> int:
    exchange: _Exchange = ffi.from_handle(handle)
    return exchange.write(frame.header, rows)


def _error(_decoder: object, _status: int, handle: object) -> None:
    ffi.from_handle(handle).damaged = True


_READ = ffi.callback("FLAC__StreamDecoderReadCallback", _read, error=lib.FLAC__STREAM_DECODER_READ_STATUS_ABORT)
_TELL = ffi.callback("FLAC__StreamDecoderTellCallback", _tell, error=lib.FLAC__STREAM_DECODER_TELL_STATUS_ERROR)
_WRITE = ffi.callback("FLAC__StreamDecoderWriteCallback", _write, error=lib.FLAC__STREAM_DECODER_WRITE_STATUS_ABORT)
_ERROR = ffi.callback("FLAC__StreamDecoderErrorCallback", _error)
