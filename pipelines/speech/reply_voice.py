"""How the replies of a conversation are spoken."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.audio.encoding import SpeechFormat
from pipelines.models.synthesis_port import DEFAULT_VOICE
from pipelines.speech.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class ReplyVoice:
    """How replies are spoken.

    Attributes:
        audio_format: format of the audio.
        voice: name of the voice.
        speed: 1 for the voice's own, 0.5 to 2.
        seed: the same seed gives the same audio.
        lexicon: the caller's own pronunciations.
    """

    audio_format: SpeechFormat = field(default_factory=SpeechFormat)
    voice: str = DEFAULT_VOICE
    speed: float = 1.0
    seed: int = 0
    lexicon: Lexicon = field(default_factory=Lexicon)
