"""Sound-alike values: "I smoke a" as an iced mocha, after a question.

Both are compared by Metaphone codes, which tell consonants as they sound, and by their letters.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import jellyfish
from rapidfuzz import fuzz

if TYPE_CHECKING:
    from pipelines.dialog.agent.value_list import ValueList

MAX_WORDS = 5
"""Of an answer; what is longer says something else."""
MIN_LIKENESS = 0.55
SURE_LIKENESS = 0.7
"""From here on a value is meant, also where nobody is asked to confirm it."""
ALIKE = 0.8
"""From here on two values sound alike."""
MAX_COMPARED = 300
"""Spoken forms of a list that are compared with each other."""
MIN_CHARACTERS = 3
MAX_BEHIND = 0.06
"""A value that is so little behind the best may be meant as well."""


def sounding_like(text: str, values: ValueList, *, is_confirmed: bool) -> tuple[str, ...]:
    """Return the values that a short answer may have been, the likeliest first.

    Args:
        text: what was heard.
        values: of the slot that was asked for.
        is_confirmed: whether the caller is asked later if all is right.
    """
    words = text.lower().split()
    if not 0 < len(words) <= MAX_WORDS:
        return ()
    heard = "".join(character for character in "".join(words) if character.isalnum())
    if len(heard) < MIN_CHARACTERS:
        return ()
    scores: dict[str, float] = {}
    for said, value in values.spoken:
        scores[value] = max(scores.get(value, 0.0), _likeness(heard, said))
    best = max(scores.values())
    if best < (MIN_LIKENESS if is_confirmed else SURE_LIKENESS):
        return ()
    near = [value for value, score in scores.items() if score > best - MAX_BEHIND]
    return tuple(sorted(near, key=lambda value: -scores[value]))


def alike(values: ValueList) -> list[tuple[str, str]]:
    """Return pairs of values, as they are said, that sound alike."""
    said = [*((value, value) for value in values.values), *values.synonyms.items()][:MAX_COMPARED]
    return [
        (one, other)
        for (one, value), (other, another) in combinations(said, 2)
        if value != another and _sound_alike(one.lower().split(), other.lower().split())
    ]


def _sound_alike(one: list[str], other: list[str]) -> bool:
    first, second = ("".join(word for word in it if word not in rest) for it, rest in ((one, other), (other, one)))
    if min(len(first), len(second)) < MIN_CHARACTERS or not (first.isalpha() and second.isalpha()):
        return False
    return _likeness(first, second) >= ALIKE


@lru_cache(20_000)
def _code(text: str) -> str:
    return jellyfish.metaphone(text)


def _likeness(heard: str, said: str) -> float:
    """Return the similarity of two texts without spaces, 0 to 1."""
    if _code(heard)[:1] != _code(said)[:1]:
        return 0.0
    return (fuzz.ratio(_code(heard), _code(said)) + fuzz.ratio(heard, said)) / 200
