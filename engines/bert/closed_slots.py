"""Closed-list slots: values resolved by spelling, sound and context.

The tagger says roughly where a slot stands, a recognizer roughly what was said. Of all stretches of words that could
be one of the values those are chosen that together agree best with text and tagger (weighted interval scheduling). A
stretch that is exactly a value counts also where the tagger saw none.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from jellyfish import metaphone
from rapidfuzz import fuzz, process

from engines.bert.slots import Slot
from engines.bert.spoken_words import spoken_form, spoken_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from engines.bert.spoken_words import SpokenWord

MIN_SCORE = 0.6
"""Least likeness, 0 to 1, of the words to a value; a slot that is like none of its values is dropped."""
_REACH = 3
"""Words that a value may go beyond what the tagger marked."""
_UNMARKED_DISCOUNT = 0.25
"""Taken off the likeness of words that the tagger did not mark: "with milk" is no "whole milk" where "milk" was."""
_STEEPNESS = 3.0
"""How much more a letter that does not fit costs than one that fits is worth."""
_MIN_WORTH = 0.05
"""What a letter is worth where the likeness is just enough."""
_MIN_SOUND = 4
"""Least length of a code of sounds by which an unmarked value is found; short codes stand for many words."""


@dataclass(frozen=True, slots=True)
class _Value:
    """Value of a slot: canonical form, spoken form and phonetic codes."""

    slot: str
    text: str
    spoken: str
    sounds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Words ``first`` to ``last`` (exclusive) as a slot's value, with its gain."""

    first: int
    last: int
    value: _Value
    gain: float


class ClosedSlots:
    """The closed slots of a domain.

    Args:
        values: all values of every closed slot; other slots are left as they are.
        least_score: least likeness of words to a value, 0 to 1.
    """

    def __init__(self, values: Mapping[str, Sequence[str]], least_score: float = MIN_SCORE) -> None:
        self._least_score = least_score
        self._values = {slot: [_value(slot, text) for text in texts] for slot, texts in values.items()}
        every = [value for listed in self._values.values() for value in listed]
        self._spoken = _only_ones((value.spoken, value) for value in every)
        self._sounds = _only_ones((sound, value) for value in every for sound in value.sounds)
        self._longest = max((len(value.spoken.split()) for value in every), default=0)

    @classmethod
    def load(cls, path: Path) -> ClosedSlots:
        """Read ``slot_values.json``: the values of every closed slot, if it exists.

        Raises:
            ValueError: the file does not hold that; the message names it.
        """
        if not path.exists():
            return cls({})
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls({str(name): [str(value) for value in values] for name, values in fields.items()})
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no values of closed slots: {error}") from error

    def settle(self, text: str, slots: Sequence[Slot]) -> tuple[Slot, ...]:
        """Resolve closed slots: drop those without a value, add missed ones.

        Args:
            text: the utterance.
            slots: what the tagger found; open ones are returned unchanged.
        """
        if not self._values:
            return tuple(slots)
        words = spoken_words(text)
        opened = [slot for slot in slots if slot.name not in self._values]
        free = [not any(s.start < word.end and word.start < s.end for s in opened) for word in words]
        candidates = [
            candidate
            for candidate in itertools.chain(self._marked(words, slots), self._standing(words))
            if all(free[candidate.first : candidate.last])
        ]
        settled = [
            Slot(c.value.slot, words[c.first].start, words[c.last - 1].end, c.value.text)
            for c in _best_together(candidates, len(words))
        ]
        return tuple(sorted((*opened, *settled), key=lambda slot: slot.start))

    def resolve(self, slot: str, text: str) -> str | None:
        """Find the closest value of ``slot`` to ``text``; None if none is close."""
        found = self._most_like(slot, spoken_form(text))
        return found[0].text if found else None

    def _marked(self, words: Sequence[SpokenWord], slots: Sequence[Slot]) -> Iterator[_Candidate]:
        """Find spans near the tagger's that are close to a value."""
        for slot in slots:
            inside = [n for n, word in enumerate(words) if word.start < slot.end and slot.start < word.end]
            if slot.name not in self._values or not inside:
                continue
            for first in range(max(0, inside[0] - _REACH), inside[-1] + 1):
                for last in range(max(first, inside[0]) + 1, min(len(words), inside[-1] + 1 + _REACH) + 1):
                    spoken = _join(words, first, last)
                    found = self._most_like(slot.name, spoken)
                    if found:
                        unmarked = sum(len(words[n].spoken) for n in range(first, last) if n not in inside)
                        discount = _UNMARKED_DISCOUNT * unmarked / len(spoken)
                        yield _candidate(first, last, spoken, found[0], found[1] - discount)

    def _standing(self, words: Sequence[SpokenWord]) -> Iterator[_Candidate]:
        """Find spans close to a value, wherever the tagger looked."""
        for first in range(len(words)):
            for last in range(first + 1, min(len(words), first + self._longest) + 1):
                spoken = _join(words, first, last)
                value = self._spoken.get(spoken)
                if value is None and len(code := _sound(spoken)) >= _MIN_SOUND:
                    value = self._sounds.get(code)
                if value is not None and (score := _likeness(spoken, value)) >= self._least_score:
                    yield _candidate(first, last, spoken, value, score - _UNMARKED_DISCOUNT)

    def _most_like(self, slot: str, spoken: str) -> tuple[_Value, float] | None:
        """Find the closest value and its similarity, by spelling, then by sound."""
        values = self._values.get(slot, [])
        nearest = process.extract(spoken, [value.spoken for value in values], scorer=fuzz.ratio, limit=8)
        best = max(
            ((values[index], _likeness(spoken, values[index])) for _, _, index in nearest),
            key=lambda pair: pair[1],
            default=None,
        )
        return best if best is not None and best[1] >= self._least_score else None


def _candidate(first: int, last: int, spoken: str, value: _Value, score: float) -> _Candidate:
    """Prefer longer values: "medium roast" explains more than "medium"."""
    explained = min(len(spoken), len(value.spoken))
    return _Candidate(first, last, value, explained * max(_MIN_WORTH, 1 - _STEEPNESS * (1 - score)))


def _likeness(spoken: str, value: _Value) -> float:
    """Mean similarity of spelling and of sound, 0 to 1."""
    if spoken == value.spoken:
        return 1.0
    heard = _sound(spoken)
    return (fuzz.ratio(spoken, value.spoken) + max(fuzz.ratio(heard, sound) for sound in value.sounds)) / 200


def _best_together(candidates: Sequence[_Candidate], words: int) -> list[_Candidate]:
    """Choose disjoint candidates of greatest total gain, in text order."""
    ending: dict[int, list[_Candidate]] = {}
    for candidate in candidates:
        ending.setdefault(candidate.last, []).append(candidate)
    totals, choices = [0.0], list[_Candidate | None]([None])
    for last in range(1, words + 1):
        total, choice = totals[-1], None
        for candidate in ending.get(last, ()):
            if totals[candidate.first] + candidate.gain > total:
                total, choice = totals[candidate.first] + candidate.gain, candidate
        totals.append(total)
        choices.append(choice)
    chosen: list[_Candidate] = []
    position = words
    while position:
        choice = choices[position]
        if choice is not None:
            chosen.append(choice)
        position = choice.first if choice is not None else position - 1
    return chosen[::-1]


def _value(slot: str, text: str) -> _Value:
    """Correct Metaphone's "ch", which is a "k" in "mocha" and "echo"."""
    spoken = spoken_form(text)
    sounds = dict.fromkeys((_sound(spoken), _sound(spoken.replace("ch", "k"))))
    return _Value(slot, text, spoken, tuple(sounds))


def _only_ones(keyed: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    """Index values; keys that two slots share are left to the tagger."""
    index: dict[str, _Value] = {}
    shared: set[str] = set()
    for key, value in keyed:
        if index.setdefault(key, value).slot != value.slot:
            shared.add(key)
    return {key: value for key, value in index.items() if key not in shared}


def _join(words: Sequence[SpokenWord], first: int, last: int) -> str:
    return " ".join(word.spoken for word in words[first:last])


def _sound(spoken: str) -> str:
    """Return the Metaphone code of words (Philips, 1990), as one string."""
    return "".join(_sound_of_word(word) for word in spoken.split())


@lru_cache(maxsize=10_000)
def _sound_of_word(word: str) -> str:
    return str(metaphone(word))
