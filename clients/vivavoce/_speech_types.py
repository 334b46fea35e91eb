"""Types that `Client.say` and spoken replies share."""

from __future__ import annotations

from dataclasses import dataclass

from vivavoce._config import AudioFormat

SPEECH_AUDIO = AudioFormat(sample_rate_hz=24_000)
"""Format of speech unless another is asked for: that of the voice."""


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """Pronunciation of a word: either `phonemes` or `alias` is set."""

    word: str
    """A word, or a few, as they are written. Capitals do not matter."""
    phonemes: str = ""
    """Its pronunciation in the International Phonetic Alphabet, such as `təˈmeɪtoʊ`."""
    alias: str = ""
    """Text read in its place."""
