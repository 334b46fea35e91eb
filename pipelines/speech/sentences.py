"""Sentence segmentation: a sentence is synthesized while the one before is heard."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.models.synthesis_port import SpeechPart
from pipelines.speech.cleaning import clean, is_speakable
from pipelines.speech.spans import MAX_PAUSE_SECONDS, SayAs, Span
from pipelines.speech.verbalizing.say_as import spoken
from pipelines.speech.verbalizing.tables import ABBREVIATIONS, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_CHARACTERS = 240
"""Of a sentence as it is written; what is longer is cut after a mark, or between words."""
MAX_FIRST_CHARACTERS = 64
"""Of the first sentence: it is heard when all of it is computed, as far as the voice's network goes."""
_MIN_FIRST_CHARACTERS = 24
_MAX_PIECES = 64
_MAX_SPOKEN_CHARACTERS = 1_500
"""Of the parts of a sentence, in words and phonemes."""
_MAX_CHUNK_CHARACTERS = 600
"""Of one part, in words."""
_MAX_INTERPRETED_CHARACTERS = 60
"""Of a span of which it was said what it is; what is longer is read in pieces."""

SENTENCE_PAUSE_SECONDS = 0.35
PARAGRAPH_PAUSE_SECONDS = 0.7
_CUT_PAUSE_SECONDS = 0.12
_JOINT_PAUSE_SECONDS = 0.02

# Possessive, and from the first mark of a row on: else a long row of marks takes quadratic time.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]]*+(?=\s)|\n\s*\n|\n(?=\s*\S)")
_CUT = re.compile(r"[,;:–—](?=\s)")
_JOINT = re.compile(r" (?=(?:and|or|but|because|which|when|while|until|if|so) )")
"""Positions at which a first sentence without a mark may be cut."""
_LAST_WORD = re.compile(r"[\w.]+$")
_NO_ENDS = frozenset((*(f"{title}." for title in TITLES), *ABBREVIATIONS)) - {
    "etc.",
    "Jr.",
    "Sr.",
    "Inc.",
    "Ltd.",
    "Co.",
    "p.m.",
    "a.m.",
}
"""Abbreviations after which a sentence goes on."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Unit of synthesis.

    Attributes:
        text: as it was written, without what is not spoken.
        parts: what the voice is asked to speak.
        pause_seconds: silence after it.
    """

    text: str
    parts: tuple[SpeechPart, ...]
    pause_seconds: float


def split(spans: Iterable[Span], *, verbalizes: bool = True) -> Iterator[Sentence]:
    """Yield the sentences of a text lazily; none without words.

    Args:
        spans: of the text.
        verbalizes: whether figures and signs are written out in English; otherwise that is left to the voice.
    """
    last: Sentence | None = None
    for group in _groups(spans):
        for sentence in _sentences(group, verbalizes=verbalizes):
            if last is not None:
                yield last
            last = sentence
    if last is not None:
        # What was written in SSML is kept; the pause between sentences has none to follow.
        told = max((span.pause_seconds for span in group if not span.text), default=0.0)
        yield dataclasses.replace(last, pause_seconds=told)


def bounds(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the sentence begins and end that holds a passage of a text.

    Args:
        text: the text.
        start: first code point of the passage.
        end: one past its last code point.
    """
    ends = [0, *(at for at, _ in _ends(text)), len(text)]
    return max(at for at in ends if at <= start), min((at for at in ends if at >= end), default=len(text))


def _groups(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Yield the pieces of each sentence, the pause behind it in its last one."""
    group: list[Span] = []
    size, is_first = 0, True
    for span in spans:
        for piece in _pieces(span, is_first=is_first):
            ends = piece.ends_sentence or bool(piece.pause_seconds)
            if not (piece.text or piece.phonemes or ends):
                continue
            group.append(piece)
            size += len(piece.text)
            if ends or size > MAX_CHARACTERS or len(group) >= _MAX_PIECES:
                is_first = is_first and not any(is_speakable(one.text) or one.phonemes for one in group)
                yield group
                group, size = [], 0
    if group:
        yield group


def _pieces(span: Span, *, is_first: bool) -> Iterator[Span]:
    text = clean(span.text)
    inner = dataclasses.replace(span, ends_sentence=False, pause_seconds=0.0)
    if span.phonemes or span.say_as is not SayAs.TEXT:
        while len(text) > _MAX_INTERPRETED_CHARACTERS and not span.phonemes:
            yield dataclasses.replace(inner, text=text[:_MAX_INTERPRETED_CHARACTERS])
            text = text[_MAX_INTERPRETED_CHARACTERS:]
        yield dataclasses.replace(span, text=text)
        return
    begin = 0
    for end, pause in _ends(text):
        yield from _cut(
            dataclasses.replace(inner, text=text[begin:end], ends_sentence=True, pause_seconds=pause), is_first=is_first
        )
        is_first = is_first and not is_speakable(text[begin:end])
        begin = end
    yield from _cut(dataclasses.replace(span, text=text[begin:]), is_first=is_first)


def _ends(text: str) -> Iterator[tuple[int, float]]:
    """Yield where sentences end, and for how long one is silent there."""
    for found in _END.finditer(text):
        if found[0].startswith("\n"):
            yield found.end(), PARAGRAPH_PAUSE_SECONDS if found[0].count("\n") > 1 else SENTENCE_PAUSE_SECONDS
            continue
        following = text[found.end() : found.end() + 8].lstrip()[:1]
        before = text[max(0, found.end() - 24) : found.end()]
        if found[0].startswith(".") and (following.islower() or _goes_on(before, following)):
            continue
        if "\n" not in text[found.end() : found.end() + 3]:
            yield found.end(), SENTENCE_PAUSE_SECONDS


def _goes_on(text: str, following: str) -> bool:
    """Tell whether a full stop belongs to an abbreviation or an initial."""
    found = _LAST_WORD.search(text)
    if found is None:
        return False
    word = found[0]
    is_initial = len(word) == 2 and word[0].isupper()
    return word in _NO_ENDS or is_initial or (word.lower() in {"no.", "nos."} and following.isdecimal())


def _cut(span: Span, *, is_first: bool) -> Iterator[Span]:
    """Cut a sentence that is too long, the first one sooner."""
    rest = span.text
    most = MAX_FIRST_CHARACTERS if is_first else MAX_CHARACTERS
    while len(rest) > most:
        least = _MIN_FIRST_CHARACTERS if is_first else most // 3
        marks = [found.end() for found in _CUT.finditer(rest, least, most)]
        joints = [found.end() for found in _JOINT.finditer(rest, least, most)] if is_first else []
        if joints and not marks:
            end = joints[-1]
        elif marks:
            end = marks[0] if is_first else marks[-1]
        elif is_first and len(rest) <= MAX_CHARACTERS:
            break
        else:
            end = rest.rfind(" ", 1, MAX_CHARACTERS) + 1 or MAX_CHARACTERS
        yield dataclasses.replace(
            span,
            text=rest[:end],
            ends_sentence=True,
            pause_seconds=_CUT_PAUSE_SECONDS if marks else _JOINT_PAUSE_SECONDS,
        )
        rest, is_first, most = rest[end:], False, MAX_CHARACTERS
    yield dataclasses.replace(span, text=rest)


def _sentences(group: list[Span], *, verbalizes: bool) -> Iterator[Sentence]:
    """Yield the sentences of a group of pieces, split where too long."""
    parts: list[SpeechPart] = []
    written: list[str] = []
    for span in group:
        for words in (span.text,) if span.phonemes else _chunks(spoken(span) if verbalizes else span.text):
            if sum(map(_size, parts)) + len(words) + len(span.phonemes) > _MAX_SPOKEN_CHARACTERS:
                yield from _finished(parts, written, _JOINT_PAUSE_SECONDS)
                parts, written = [], []
            if span.phonemes or is_speakable(words) or (parts and words.strip()):
                parts.append(SpeechPart(words.strip(), span.phonemes, span.speed))
        written.append(span.text)
    pause = max((span.pause_seconds for span in group), default=0.0)
    if any(part.phonemes or is_speakable(part.text) for part in parts):
        yield from _finished(parts, written, min(pause or SENTENCE_PAUSE_SECONDS, MAX_PAUSE_SECONDS))
    elif pause:
        yield Sentence("", (SpeechPart("", pause_seconds=pause),), pause)


def _finished(parts: list[SpeechPart], written: list[str], pause: float) -> Iterator[Sentence]:
    if parts:
        yield Sentence(" ".join("".join(written).split()), tuple(parts), pause)


def _size(part: SpeechPart) -> int:
    return len(part.text) + len(part.phonemes)


def _chunks(words: str) -> Iterator[str]:
    """Split very long pieces, such as hundreds of figures, between words."""
    while len(words) > _MAX_CHUNK_CHARACTERS:
        end = words.rfind(" ", 1, _MAX_CHUNK_CHARACTERS) + 1 or _MAX_CHUNK_CHARACTERS
        yield words[:end]
        words = words[end:]
    yield words
