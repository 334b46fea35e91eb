"""Speech synthesis as pipelines need it, as a protocol and plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    import numpy as np
    import numpy.typing as npt

DEFAULT_VOICE = "heart"
"""Name of the voice of the shipped engine, by which every model takes its own."""


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """A part of what is spoken.

    Attributes:
        text: words.
        phonemes: how they are pronounced, in the International Phonetic Alphabet; "": as the voice reads them.
        speed: 1 for the voice's own, 0.5 to 2.
        pause_seconds: silence after it, 0 to 10.
    """

    text: str
    phonemes: str = ""
    speed: float = 1.0
    pause_seconds: float = 0.0


class Synthesizer(Protocol):
    """Speech synthesis."""

    @property
    def language(self) -> str:
        """Code of the language that it speaks."""

    def speak(
        self, parts: Sequence[SpeechPart], voice: str, seed: int
    ) -> AsyncGenerator[npt.NDArray[np.float32], None]:
        """Speak parts in one breath up to a pause: about a sentence.

        Args:
            parts: at most 256, of 2,000 characters together.
            voice: name of the voice.
            seed: the same seed, parts and voice give the same samples.

        Yields:
            The next samples, mono at ``pipelines.audio.formats.SPEECH_RATE_HZ``, -1 to 1; a second at most.

        Raises:
            ModelError: the model does not speak.
        """
