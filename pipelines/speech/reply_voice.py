"""Voice of a conversation's replies."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.audio.encoding import SpeechFormat
from pipelines.errors import InvalidInputError
from pipelines.speech.lexicon import Lexicon
from pipelines.speech.synthesis import Voice

DEFAULT_LEAD_SECONDS = 0.25
_LEAD_SECONDS = (0.1, 10.0)


@dataclass(frozen=True, slots=True)
class ReplyVoice:
    """Voice and format of spoken replies.

    Attributes:
        audio_format: format of the audio.
        voice: speaks.
        speed: 1 for the voice's own, 0.5 to 2.
        seed: the same seed gives the same audio.
        lexicon: the caller's own pronunciations.
        lead_seconds: how far the audio is sent ahead of its playback, 0.1 to 10.

    Raises:
        InvalidInputError: the lead is out of its range.
    """

    audio_format: SpeechFormat = field(default_factory=SpeechFormat)
    voice: Voice = field(default_factory=Voice)
    speed: float = 1.0
    seed: int = 0
    lexicon: Lexicon = field(default_factory=Lexicon)
    lead_seconds: float = DEFAULT_LEAD_SECONDS

    def __post_init__(self) -> None:
        least, most = _LEAD_SECONDS
        if not least <= self.lead_seconds <= most:
            message = f"lead is {self.lead_seconds:g} s: it must be {least:g} to {most:g} s"
            raise InvalidInputError("config.reply_audio.lead", "LEAD_OUT_OF_RANGE", message)
