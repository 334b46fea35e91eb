"""The audio formats that a caller may choose."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.errors import InvalidInputError

MODEL_RATE_HZ = 16_000
"""Sample rate of everything behind the decoders: voice activity and recognition."""
SPEECH_RATE_HZ = 24_000
"""Sample rate of synthesized speech."""

MIN_RATE_HZ = 8_000
MAX_RATE_HZ = 48_000
MAX_CHANNELS = 2


class Encoding(enum.Enum):
    """Encoding of audio samples."""

    LINEAR_PCM = "LINEAR_PCM"
    LINEAR_PCM_FLOAT32 = "LINEAR_PCM_FLOAT32"
    MULAW = "MULAW"
    ALAW = "ALAW"
    FLAC = "FLAC"
    OGGOPUS = "OGGOPUS"
    CONTAINER = "CONTAINER"
    """Whatever the header of the audio says: WAV, FLAC, Ogg, WebM, MP4, MP3, AAC, AIFF or CAF."""

    @property
    def describes_itself(self) -> bool:
        """True if a header in the audio tells sample rate and channels."""
        return self in {Encoding.FLAC, Encoding.OGGOPUS, Encoding.CONTAINER}


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """Format of a caller's audio.

    Attributes:
        encoding: how samples are encoded.
        sample_rate_hz: samples a second and channel; 0 for what the audio's own header says.
        channels: interleaved channels; 0 for one, or for what the header says.

    Raises:
        InvalidInputError: the rate or the number of channels is out of range.
    """

    encoding: Encoding
    sample_rate_hz: int = 0
    channels: int = 0

    def __post_init__(self) -> None:
        rate_from_header = self.sample_rate_hz == 0 and self.encoding.describes_itself
        if not rate_from_header and not MIN_RATE_HZ <= self.sample_rate_hz <= MAX_RATE_HZ:
            raise InvalidInputError(
                "config.audio.sample_rate_hz",
                "SAMPLE_RATE_OUT_OF_RANGE",
                f"a sample rate of {self.sample_rate_hz} Hz is not served: send {MIN_RATE_HZ} to {MAX_RATE_HZ} Hz",
            )
        if not 0 <= self.channels <= MAX_CHANNELS:
            raise InvalidInputError(
                "config.audio.channel_count",
                "CHANNEL_COUNT_OUT_OF_RANGE",
                f"{self.channels} channels are not served: send 1 or 2",
            )
