"""Sentences of a text that comes in pieces, each as soon as it is complete."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.speech.cleaning import clean, is_speakable
from pipelines.speech.sentences import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SENTENCE_CHARACTERS = 500
"""What is longer is cut between words."""

_GAP = re.compile(r" (?=[.,;:!?](?: |$))")
"""Where an emoji stood."""


class SpokenSentences:
    """Gathers pieces of a text, and gives its sentences without Markdown and emoji."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, piece: str) -> Iterator[str]:
        """Take the next piece; yield the sentences that it completes."""
        # In blocks: each sentence is looked for in all that is there.
        for at in range(0, len(piece), MAX_SENTENCE_CHARACTERS):
            self._text = (self._text + piece[at : at + MAX_SENTENCE_CHARACTERS]).lstrip()
            yield from self._complete()

    def _complete(self) -> Iterator[str]:
        while self._text:
            _, end = bounds(self._text, 0, 1)
            if end >= len(self._text):
                if len(self._text) <= MAX_SENTENCE_CHARACTERS:
                    return
                end = self._text.rfind(" ", 1, MAX_SENTENCE_CHARACTERS)
                end = end if end > 0 else MAX_SENTENCE_CHARACTERS
            sentence, self._text = self._text[:end], self._text[end:].lstrip()
            yield from _speakable(sentence)

    def rest(self) -> Iterator[str]:
        """Yield what is left when nothing more comes."""
        text, self._text = self._text, ""
        yield from _speakable(text)


def _speakable(sentence: str) -> Iterator[str]:
    text = _GAP.sub("", " ".join(clean(sentence).split()))
    if is_speakable(text):
        yield text
