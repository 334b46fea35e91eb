"""Validation of a text or SSML document, and its sentences."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.speech.cleaning import check_characters
from pipelines.speech.sentences import split
from pipelines.speech.spans import MAX_SPEED, MIN_SPEED, Span
from pipelines.speech.ssml import read_ssml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipelines.speech.lexicon import Lexicon
    from pipelines.speech.sentences import Sentence

ENGLISH = "en"
NOTHING_TO_SPEAK = "NOTHING_TO_SPEAK"
"""Reason of the error for a text of signs or markup alone."""
MAX_TEXT_CHARACTERS = 10_000
"""About ten minutes of speech."""
MAX_SSML_CHARACTERS = 20_000
MAX_SPOKEN_CHARACTERS = 20_000
"""With the aliases of a lexicon in it."""


def sentences_of_text(
    text: str, lexicon: Lexicon, speed: float = 1.0, field: str = "text", language: str = ENGLISH
) -> Iterator[Sentence]:
    """Return the sentences of a text, each read when it is asked for.

    Args:
        text: what is spoken; Markdown and emoji in it are not.
        lexicon: the caller's own pronunciations.
        speed: 1 for the voice's own.
        field: what errors name it.
        language: code of the text's language; figures of English alone are verbalized here, others by the voice.

    Raises:
        InvalidInputError: it is empty or too long, or holds nothing that can be spoken, or what is no text.
    """
    _check(text, MAX_TEXT_CHARACTERS, field)
    return _spoken([*lexicon.applied([Span(text, speed=speed)])], field, language)


def sentences_of_ssml(
    document: str, lexicon: Lexicon, speed: float = 1.0, field: str = "ssml", language: str = ENGLISH
) -> Iterator[Sentence]:
    """Return the sentences of SSML; see :func:`sentences_of_text`."""
    _check(document, MAX_SSML_CHARACTERS, field)
    spans = (
        dataclasses.replace(span, speed=min(MAX_SPEED, max(MIN_SPEED, speed * span.speed)))
        for span in read_ssml(document, field)
    )
    return _spoken([*lexicon.applied(spans)], field, language)


def check_speed(speed: float, field: str) -> float:
    """Return a speed, 1 for 0.

    Raises:
        InvalidInputError: it is out of range.
    """
    if speed and not MIN_SPEED <= speed <= MAX_SPEED:
        message = f"a speed of {speed:g} is not served: send {MIN_SPEED:g} to {MAX_SPEED:g}"
        raise InvalidInputError(field, "SPEED_OUT_OF_RANGE", message)
    return speed or 1.0


def _check(text: str, most: int, field: str) -> None:
    if not text.strip():
        raise InvalidInputError(field, "EMPTY_TEXT", "there is no text: send what is to be spoken")
    if len(text) > most:
        message = f"the text has {len(text):,} characters: send at most {most:,} at a time"
        raise InvalidInputError(field, "TEXT_TOO_LONG", message)
    check_characters(text, field)


def _spoken(spans: Sequence[Span], field: str, language: str) -> Iterator[Sentence]:
    length = sum(len(span.text) for span in spans)
    if length > MAX_SPOKEN_CHARACTERS:
        message = f"with its aliases the text has {length:,} characters: at most {MAX_SPOKEN_CHARACTERS:,} are spoken"
        raise InvalidInputError(field, "TEXT_TOO_LONG", message)
    sentences = split(spans, verbalizes=language == ENGLISH)
    opening = []
    for sentence in sentences:
        opening.append(sentence)
        if sentence.text:
            return itertools.chain(opening, sentences)
    message = "there is nothing to speak, only signs or markup: send words or figures"
    raise InvalidInputError(field, NOTHING_TO_SPEAK, message)
