"""Bounds on phrase hints and alternatives."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipelines.data.recognition import PhraseHint
from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipelines.data.recognition import RecognitionOptions

MAX_PHRASES = 1_000
MAX_CHARACTERS = 60_000
MAX_WORD = 50
MAX_BOOST = 100
MAX_ALTERNATIVES = 10


def read_hints(groups: Iterable[tuple[Sequence[str], float | None]], field: str) -> tuple[PhraseHint, ...]:
    """Return the hints of all groups.

    Args:
        groups: phrases, and the boost of all of them, None where the caller left it open.
        field: where they come from.

    Raises:
        InvalidInputError: they are too many or too long, or a boost is out of range.
    """
    hints = []
    for phrases, boost in groups:
        if boost is not None and not 0 <= boost <= MAX_BOOST:
            raise InvalidInputError(field, "BOOST_OUT_OF_RANGE", f"a boost must be 0 to {MAX_BOOST}")
        hints += [PhraseHint(phrase, boost) for phrase in phrases]
    if len(hints) > MAX_PHRASES:
        raise InvalidInputError(field, "TOO_MANY_PHRASES", f"send at most {MAX_PHRASES:,} phrases")
    if sum(len(hint.phrase) for hint in hints) > MAX_CHARACTERS:
        message = f"send phrases of at most {MAX_CHARACTERS:,} characters together"
        raise InvalidInputError(field, "PHRASES_TOO_LONG", message)
    if any(len(word) > MAX_WORD for hint in hints for word in hint.phrase.split()):
        message = f"a phrase has a word of more than {MAX_WORD} characters: nobody says that, leave it out"
        raise InvalidInputError(field, "PHRASES_TOO_LONG", message)
    return tuple(hints)


def with_hints(
    options: RecognitionOptions, expected: Sequence[str], engine_hints: Sequence[PhraseHint]
) -> RecognitionOptions:
    """Add hints behind the caller's, as many as fit, without duplicates.

    Args:
        options: with the hints of the caller.
        expected: what an agent expects to be said next.
        engine_hints: those of an engine.
    """
    hints = (*(PhraseHint(phrase) for phrase in expected), *engine_hints)
    if not hints:
        return options
    chosen = {hint.phrase: hint for hint in options.hints}
    characters = sum(len(hint.phrase) for hint in options.hints)
    for hint in hints:
        characters += len(hint.phrase)
        if len(chosen) == MAX_PHRASES or characters > MAX_CHARACTERS:
            break
        chosen.setdefault(hint.phrase, hint)
    return dataclasses.replace(options, hints=tuple(chosen.values()))


def check_alternatives(wanted: int, field: str) -> int:
    """Return a number of alternatives as it is.

    Raises:
        InvalidInputError: it is negative or more than are served.
    """
    if not 0 <= wanted <= MAX_ALTERNATIVES:
        message = f"{wanted} alternatives are not served: ask for 0 to {MAX_ALTERNATIVES}"
        raise InvalidInputError(field, "ALTERNATIVES_OUT_OF_RANGE", message)
    return wanted
