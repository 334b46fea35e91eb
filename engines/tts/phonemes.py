"""Conversion from the International Phonetic Alphabet to the voice's own.

The network's alphabet is that of misaki, for American English: one letter a diphthong or affricate, and the marks of
stress before the vowel instead of before the syllable.
"""

from __future__ import annotations

import re
import unicodedata

_SEQUENCES = {
    "eɪ": "A",
    "aɪ": "I",
    "oʊ": "O",
    "əʊ": "O",
    "aʊ": "W",
    "ɔɪ": "Y",
    "tʃ": "ʧ",
    "dʒ": "ʤ",
    "ɝ": "ɜɹ",
    "ɚ": "əɹ",
    "r": "ɹ",
    "g": "ɡ",
    "e": "ɛ",
    "o": "O",
    "a": "ɑ",
    "ɾ": "T",
    "ʔ": "t",
    "ɫ": "l",
    "ʍ": "w",
    "ɨ": "ɪ",
}
"""The longest first: "a" alone is an open vowel, and "aɪ" one sound."""
_SEQUENCE = re.compile("|".join(_SEQUENCES))
_SYLLABIC = re.compile("([nlmɹ])\N{COMBINING VERTICAL LINE BELOW}")
_STRESS_BEFORE_SYLLABLE = re.compile("([ˈˌ])([^ ˈˌAIOWYQTaiuæɑɐɒɔəɛɜɪʊʌᵊᵻ]+)")
_VOWEL = re.compile("[AIOWYQaiuæɑɐɒɔəɛɜɪʊʌᵊᵻ]")


def to_voice(phonemes: str) -> str:
    """Return phonemes in the voice's alphabet; unknown signs stay."""
    text = unicodedata.normalize("NFD", phonemes)
    text = text.replace("\N{COMBINING DOUBLE INVERTED BREVE}", "").replace("ː", "").replace(".", "")
    text = _SYLLABIC.sub(r"ᵊ\1", text)
    text = _SEQUENCE.sub(lambda found: _SEQUENCES[found[0]], text)
    return _STRESS_BEFORE_SYLLABLE.sub(r"\2\1", text)


def has_sound(phonemes: str) -> bool:
    """Return whether there is a vowel: marks alone would give a click."""
    return _VOWEL.search(phonemes) is not None
