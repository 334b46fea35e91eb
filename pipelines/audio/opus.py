"""Decodes Opus in Ogg as it arrives; the channels are as its header says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pipelines.audio.headers import check_header
from pipelines.audio.ogg import OggPacketReader
from pipelines.audio.packets import PacketDecoder
from pipelines.audio.sample_decoder import NO_BLOCK
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat


OPUS_HEAD: Final = b"OpusHead"
"""No packet of audio begins so: by RFC 6716, section 3.2.5, it would be one of 48 frames, eight times the longest."""

OPUS_RATE_HZ: Final = 48_000
"""Opus always decodes at 48 kHz, whatever rate its header names."""

_HEAD_BYTES = 19


class OggOpusDecoder(PacketDecoder):
    """Decodes Opus (RFC 6716) in Ogg (RFC 7845) with libopus, packet by packet.

    Streams may follow one another, as from a client that records each press of its button as a file of its own.

    Args:
        promised: what the caller says of the audio; a number of channels other than 0 must be the header's.
    """

    sample_rate_hz = OPUS_RATE_HZ

    def __init__(self, promised: AudioFormat) -> None:
        super().__init__(promised)
        self._pages = OggPacketReader(OPUS_HEAD)
        self._tags_follow = False

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield finished packets, float32 ``[samples, channels]`` each."""
        yield from self._decoded(self._pages.feed(piece))

    def flush(self) -> npt.NDArray[np.float32]:
        """Decode what is whole in a page that the stream breaks off in."""
        blocks = list(self._decoded(self._pages.flush()))
        return np.concatenate(blocks) if blocks else NO_BLOCK

    def _decoded(self, packets: Iterator[bytes]) -> Iterator[npt.NDArray[np.float32]]:
        for packet in packets:
            if packet.startswith(OPUS_HEAD):
                self._begin_opus(packet)
            elif self._tags_follow:
                self._tags_follow = False
            else:
                yield from self.decode_packet(packet)
        for sentence in self._pages.damage:
            self.note_damage(sentence)
        self._pages.damage.clear()

    def _begin_opus(self, packet: bytes) -> None:
        if len(packet) < _HEAD_BYTES:
            raise UndecodableAudioError("the Ogg stream holds no Opus audio: its OpusHead is too short")
        check_header(self._promised, OPUS_RATE_HZ, packet[9])
        self.begin_stream("libopus", packet)
        self._tags_follow = True
