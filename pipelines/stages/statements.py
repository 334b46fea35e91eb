"""Statements of documents: sentences, rows of tables, answers of FAQs.

A reader of passages wants a question in the words of the document. Callers have words of their own, and a statement is
found by its meaning.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from pipelines.speech.sentences import bounds
from pipelines.stages.answer_kinds import states
from pipelines.text.reading.faq import MAX_ANSWER_CHARACTERS
from pipelines.text.reading.tables import read_tables
from pipelines.text.values.dates import WEEKDAYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_LIKENESS = 0.46
"""Likeness of a question and a statement from which on it answers: a cosine, with what is added for other signs."""
_READ, _READ_OF_YES_OR_NO = 0.3, 0.1
"""What a reader's answer of score 1 adds to the likeness of the statement that it stands in.

Whether something is so it cannot read: it finds names, numbers and the like.
"""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_WH = re.compile(r"\b(?:what|which|how|when|where|who|whose|whom|why)\b", re.IGNORECASE)
_DAY = 0.12
"""What a day that is asked for adds to the statements that are about it; others that have days lose as much."""
_REMEMBERED = 512
_NAMES = "|".join(WEEKDAYS)
_DAYS = re.compile(
    rf"\b(?P<first>{_NAMES})s?\b(?:\s*(?:to|till|until|through|-|\u2013)\s*(?P<last>{_NAMES})s?\b)?"
    r"|\b(?P<all>every day|daily|day and night)\b|\b(?P<week>weekdays?|during the week)\b|\b(?P<end>weekends?)\b",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A piece of a passage that answers by itself.

    Attributes:
        start: first code point in the passage.
        end: one past the last code point.
        told: as a sentence, a row with the headings of its table.
        heading: title of the section that it stands in.
        is_row: whether it is a row of a table.
    """

    start: int
    end: int
    told: str
    heading: str
    is_row: bool = False

    @property
    def compared(self) -> tuple[str, ...]:
        """The texts that questions are compared with."""
        ends = (0, *(found.end() for found in _SENTENCE_END.finditer(self.told)), len(self.told))
        sentences = [told for start, end in itertools.pairwise(ends) if (told := self.told[start:end].strip())]
        return tuple(text for one in sentences for text in (one, f"{self.heading} {one}"))


@functools.lru_cache(maxsize=_REMEMBERED)
def statements_of(text: str, heading: str) -> tuple[Statement, ...]:
    """Return the statements of a passage, in order.

    Args:
        text: of the passage.
        heading: of the section, or the title of the document.
    """
    if heading.endswith("?") and len(text) <= MAX_ANSWER_CHARACTERS:
        return (Statement(0, len(text), text, heading),)
    return tuple(_statements(text, heading))


def _statements(text: str, heading: str) -> Iterator[Statement]:
    read = read_tables(text)
    at = 0
    while at < len(read.text):
        _, end = bounds(read.text, at, at + 1)
        end = max(end, at + 1)
        told = read.text[at:end].strip()
        source = read.source(at, end)
        # "What treatments cost:" tells nothing itself.
        if told and source is not None and not told.endswith(":"):
            row = text[: source[0]].rfind("\n") + 1
            # Of a row the cell that is told last is known: all of it is meant.
            is_row = "|" in text[row : source[1]]
            yield Statement(row if is_row else source[0], source[1], told, heading, is_row)
        at = end


def most_like(
    question: str,
    statements: Sequence[Statement],
    likenesses: Sequence[float],
    read: Sequence[float],
) -> tuple[int, float] | None:
    """Return the place of the statement that answers a question, and its likeness.

    Args:
        question: that is asked.
        statements: of all passages.
        likenesses: the highest cosine of the question and what each statement is compared by.
        read: score of the answer that a reader found in each statement; 0: it found none there.

    Returns:
        None: none of them answers.
    """
    asked = days_in(question)
    of_read = _READ if _WH.search(question) else _READ_OF_YES_OR_NO
    best: tuple[int, float] | None = None
    for place, (statement, cosine, score) in enumerate(zip(statements, likenesses, read, strict=True)):
        if not states(question, statement.told):
            continue
        likeness = cosine + of_read * score
        # What a row tells may be that it is closed on that day.
        if asked and (told := days_in(statement.told.partition(":")[0] if statement.is_row else statement.told)):
            likeness += _DAY if asked & told else -_DAY
        if likeness >= MIN_LIKENESS and (best is None or likeness > best[1]):
            best = place, likeness
    return best


def days_in(text: str) -> frozenset[int]:
    """Return the days of the week that a text is about, 0 for Monday."""
    days: set[int] = set()
    for found in _DAYS.finditer(text):
        if found["all"]:
            days.update(range(7))
        elif found["week"]:
            days.update(range(5))
        elif found["end"]:
            days.update((5, 6))
        else:
            first = WEEKDAYS[found["first"].lower()]
            last = WEEKDAYS[found["last"].lower()] if found["last"] else first
            days.update((first + more) % 7 for more in range((last - first) % 7 + 1))
    return frozenset(days)
