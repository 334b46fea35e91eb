"""Words that a recognizer may write for another one, because they sound the same or nearly so."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from jellyfish import metaphone
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from modelkit.augment import is_plain_word, substitute

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from modelkit.nlu import Utterance

_WORD = re.compile(r"\b[a-z]{2,}\b", re.IGNORECASE)
_SHORT_WORD = re.compile(r"\b[a-z]{1,3} (?=\w)", re.IGNORECASE)
_ALIKE = 10
"""Words that one may be taken for."""
_NEAR_SHARE = 0.4
"""Share of confusions with a word of which one sound differs."""


class SoundAlikes:
    """Finds words that sound alike in a vocabulary, by their Metaphone codes.

    Args:
        vocabulary: words of the language; all but plain lower-case ones are left out.
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._words: dict[str, list[str]] = {}
        for word in sorted(vocabulary):
            if is_plain_word(word):
                self._words.setdefault(metaphone(word), []).append(word)
        self._codes = list(self._words)
        self._alike = lru_cache(maxsize=20_000)(self._find)

    def mishear(self, utterance: Utterance, share: float, rng: random.Random) -> Utterance:
        """Writes utterances as a recognizer with a noisy microphone might.

        Args:
            utterance: its slots move along.
            share: probability that a word is taken for another one; short words are dropped half as often.
            rng: source of chance.
        """

        def confuse(match: re.Match[str]) -> str:
            return self.another(match[0], rng) if rng.random() < share else match[0]

        def drop(match: re.Match[str]) -> str:
            return "" if rng.random() < share / 2 else match[0]

        return substitute(substitute(utterance, _WORD, confuse), _SHORT_WORD, drop)

    def another(self, word: str, rng: random.Random) -> str:
        """Chooses a word that ``word`` may be taken for; the same one where nothing sounds like it."""
        same, near = self._alike(word.lower())
        chosen = near if near and (not same or rng.random() < _NEAR_SHARE) else same
        return rng.choice(chosen) if chosen else word

    def _find(self, word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Lists the words of the same code, and those of a code that differs by one sound, most alike first."""
        code = metaphone(word)
        same = [other for other in self._words.get(code, ()) if other != word]
        codes = process.extract(code, self._codes, scorer=Levenshtein.distance, score_cutoff=1, limit=200)
        near = [other for found, distance, _ in codes if distance == 1 for other in self._words[found]]
        return _closest(word, same), _closest(word, near) if len(code) > 1 else ()


def _closest(word: str, others: list[str]) -> tuple[str, ...]:
    return tuple(other for other, _, _ in process.extract(word, others, scorer=fuzz.ratio, limit=_ALIKE))
