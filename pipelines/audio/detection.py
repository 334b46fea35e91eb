"""Finds out how audio is encoded from how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pipelines.audio.aiff import AiffDecoder
from pipelines.audio.caf import CafDecoder
from pipelines.audio.flac import FlacDecoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.audio.mp4 import Mp4Decoder
from pipelines.audio.mpeg_audio import FramesDecoder
from pipelines.audio.opus import OggOpusDecoder
from pipelines.audio.raw import RawDecoder
from pipelines.audio.sample_decoder import NO_BLOCK
from pipelines.audio.signatures import name_of
from pipelines.audio.tags import TagSkipper
from pipelines.audio.wav import WavDecoder, Wave64Decoder
from pipelines.audio.webm import WebmDecoder
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from pipelines.audio.sample_decoder import SampleDecoder

_DECODERS: Final[dict[str, Callable[[AudioFormat], SampleDecoder]]] = {
    "WAV": WavDecoder,
    "Wave64": Wave64Decoder,
    "FLAC": FlacDecoder,
    "Ogg": OggOpusDecoder,
    "AIFF": AiffDecoder,
    "CAF": CafDecoder,
    "WebM": WebmDecoder,
    "MP4": Mp4Decoder,
    "MP3": FramesDecoder,
    "MPEG layer I": FramesDecoder,
    "MPEG layer II": FramesDecoder,
    "AAC": FramesDecoder,
}
_NAMED: Final = {Encoding.FLAC: "FLAC", Encoding.OGGOPUS: "Ogg"}
SERVED = "WAV, FLAC, Ogg Opus, WebM, MP4, MP3, AAC, AIFF or CAF"


class DetectingDecoder:
    """Decodes audio as its header says, and audio without one as the caller says.

    Args:
        channels: the number of channels that a header must say; 0 for any.
        raw: how audio without a header is encoded; None when it must have one.
        named: FLAC or OGGOPUS where the caller named that: anything else is refused.

    Attributes:
        chosen: decodes the audio; None while it is not known how it is encoded.
    """

    def __init__(self, channels: int, raw: AudioFormat | None, named: Encoding | None = None) -> None:
        self._promised = AudioFormat(Encoding.CONTAINER, 0, channels)
        self._raw = raw
        self._named = _NAMED.get(named) if named else None
        self._begun = bytearray()
        self._tags = TagSkipper()
        self.chosen: SampleDecoder | None = None

    @property
    def sample_rate_hz(self) -> int:
        """Rate of the samples; known once there are any."""
        return self.chosen.sample_rate_hz if self.chosen else 0

    def decode(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield what ``data`` completes, float32 ``[samples, channels]``."""
        # The decoder's own iterator: another one around it would cost every message of every caller.
        return self._decode_first(data) if self.chosen is None else self.chosen.decode(data)

    def _decode_first(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        self._begun += data
        if self._choose(whole=False):
            assert self.chosen is not None
            yield from self.chosen.decode(self._taken())

    def flush(self) -> npt.NDArray[np.float32]:
        """Decode what is left at the end of the audio."""
        if self.chosen is None:
            if not self._begun:
                return NO_BLOCK
            self._choose(whole=True)
            assert self.chosen is not None
            blocks = [*self.chosen.decode(self._taken()), self.chosen.flush()]
            filled = [block for block in blocks if len(block)]
            return np.concatenate(filled) if filled else NO_BLOCK
        return self.chosen.flush()

    @property
    def is_damaged(self) -> bool:
        """True if damage was found that was not told."""
        return self.chosen is not None and self.chosen.is_damaged

    def take_damage(self) -> list[str]:
        """Return what was damaged, and left out, since the last call."""
        return self.chosen.take_damage() if self.chosen else []

    def _choose(self, *, whole: bool) -> bool:
        """Choose the decoder; return False where more must come first."""
        if not self._tags.skip(self._begun) and not whole:
            return False
        name = name_of(bytes(self._begun), whole=whole)
        if name is None:
            return False
        self.chosen = self._decoder_of(name)
        return True

    def _decoder_of(self, name: str) -> SampleDecoder:
        if self._named and not name:
            # Which knows best why this is none.
            return _DECODERS[self._named](self._promised)
        if self._named and name != self._named:
            cure = "name CONTAINER as its encoding" if name in _DECODERS else f"send {SERVED}"
            raise UndecodableAudioError(f"this is {name}, and the config says {self._named}: {cure}")
        if name in _DECODERS:
            return _DECODERS[name](self._promised)
        if name:
            raise UndecodableAudioError(f"this is {name}, which is not served: send {SERVED}")
        if self._raw is None:
            raise UndecodableAudioError(
                f"the audio has no header that tells its format: send {SERVED}, or name its encoding and sample rate"
            )
        return RawDecoder(self._raw)

    def _taken(self) -> bytes:
        """Return what was held back, once."""
        begun, self._begun = bytes(self._begun), bytearray()
        return begun
