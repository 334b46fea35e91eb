"""Phrase hints from what OpenAI's contract has for that: a prompt, and keywords."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.models.phrase_hints import MAX_WORD, read_hints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.data.recognition import PhraseHint

MAX_PROMPT_WORDS = 8
"""Of a phrase in a prompt: longer ones describe the recording, and nobody says them."""

_BOUNDS = re.compile(r"[,;:\n]|(?<=[^\W\d])[.!?](?=\s|$)")
_MARKS = "\"'()[]{}<>*-–—•. "  # noqa: RUF001 - dashes of texts


def to_hints(prompt: str, keywords: Sequence[str], prompt_field: str, keywords_field: str) -> tuple[PhraseHint, ...]:
    """Return the hints of a request.

    A prompt is cut into phrases at commas, lines and ends of sentences; short ones are hints.

    Args:
        prompt: free text.
        keywords: words and phrases.
        prompt_field: what errors about the prompt name.
        keywords_field: what errors about the keywords name.

    Raises:
        InvalidInputError: there are too many, or too long ones.
    """
    phrases = [phrase.strip(_MARKS) for phrase in _BOUNDS.split(prompt)]
    short = [phrase for phrase in phrases if phrase and len(phrase.split()) <= MAX_PROMPT_WORDS and _is_sayable(phrase)]
    return (*read_hints([(keywords, None)], keywords_field), *read_hints([(short, None)], prompt_field))


def _is_sayable(phrase: str) -> bool:
    return any(map(str.isalpha, phrase)) and all(len(word) <= MAX_WORD for word in phrase.split())
