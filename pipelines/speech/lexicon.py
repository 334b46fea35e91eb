"""Pronunciation lexicon of a request."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.speech.phonemes import to_ipa
from pipelines.speech.spans import SayAs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipelines.speech.spans import Span

MAX_ENTRIES = 200
MAX_WORD_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class LexiconEntry:
    """Pronunciation of one word.

    Attributes:
        word: a word, or a few, as they are written; capitals do not count.
        phonemes: how it is pronounced, in the International Phonetic Alphabet; "": as ``alias`` is read.
        alias: what is read in its place.
    """

    word: str
    phonemes: str = ""
    alias: str = ""


class Lexicon:
    """Pronunciation lexicon of one request.

    Args:
        entries: of two with one word the later counts.
        field: what errors name.

    Raises:
        InvalidInputError: there are too many, or one of them says nothing.
    """

    def __init__(self, entries: Sequence[LexiconEntry] = (), field: str = "lexicon") -> None:
        if len(entries) > MAX_ENTRIES:
            message = f"the lexicon has {len(entries)} entries: send at most {MAX_ENTRIES}"
            raise InvalidInputError(field, "LEXICON_TOO_LONG", message)
        self._entries = {_key(entry.word): _checked(entry, field) for entry in entries}
        words = sorted(self._entries, key=len, reverse=True)
        pattern = "|".join(r"\s+".join(map(re.escape, word.split())) for word in words)
        self._words = re.compile(rf"(?<![\w'])(?:{pattern})(?!\w)", re.IGNORECASE) if words else None

    def applied(self, spans: Iterable[Span]) -> Iterator[Span]:
        """Yield spans, with each word of the lexicon alone and pronounced."""
        for span in spans:
            if self._words is None or span.phonemes or span.say_as is not SayAs.TEXT:
                yield span
            else:
                yield from self._split(span, self._words)

    def _split(self, span: Span, words: re.Pattern[str]) -> Iterator[Span]:
        plain = dataclasses.replace(span, pause_seconds=0.0, ends_sentence=False)
        begin = 0
        for found in words.finditer(span.text):
            entry = self._entries[_key(found[0])]
            if found.start() > begin:
                yield dataclasses.replace(plain, text=span.text[begin : found.start()])
            yield dataclasses.replace(plain, text=entry.alias or found[0], phonemes=entry.phonemes)
            begin = found.end()
        yield dataclasses.replace(span, text=span.text[begin:])


def _key(word: str) -> str:
    return " ".join(word.lower().split())


def _checked(entry: LexiconEntry, field: str) -> LexiconEntry:
    if not entry.word.strip() or len(entry.word) > MAX_WORD_CHARACTERS:
        message = f"a word of the lexicon is empty or too long: write 1 to {MAX_WORD_CHARACTERS} characters"
        raise InvalidInputError(field, "BAD_LEXICON_WORD", message)
    if len(entry.alias) > MAX_WORD_CHARACTERS:
        message = f"an alias of the lexicon has {len(entry.alias):,} characters: write at most {MAX_WORD_CHARACTERS}"
        raise InvalidInputError(field, "BAD_LEXICON_WORD", message)
    if bool(entry.phonemes) == bool(entry.alias.strip()):
        message = "a word of the lexicon needs either phonemes or an alias: write one of them"
        raise InvalidInputError(field, "BAD_LEXICON_WORD", message)
    return dataclasses.replace(entry, phonemes=to_ipa(entry.phonemes, "ipa", field)) if entry.phonemes else entry
