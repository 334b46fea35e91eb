"""Writes intents, slots and answers as Riva's results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from service.api.riva.proto import riva_nlp_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.data.answers import Answer
    from pipelines.data.understanding import Slot, Understanding

NO_SLOT = "O"
"""Class of a word that belongs to no slot, as in the tagging scheme of Ramshaw and Marcus (1995)."""

_WORD = re.compile(r"\w+(?:['’.-]\w+)*")  # noqa: RUF001 - the apostrophe that some texts have


def to_intent(understanding: Understanding) -> pb.Classification:
    """Write the intent."""
    return pb.Classification(class_name=understanding.intent, score=understanding.confidence)


def to_slots(slots: Iterable[Slot]) -> list[pb.TokenClassValue]:
    """Write a slot as one token, without a score."""
    return [_token(slot.text, slot.name, slot.start, slot.end) for slot in slots]


def to_words(text: str, slots: Iterable[Slot]) -> list[pb.TokenClassValue]:
    """Write one token a word, with the slot that it belongs to or :data:`NO_SLOT`."""
    held = list(slots)
    return [
        _token(
            word[0],
            next((slot.name for slot in held if slot.start < word.end() and word.start() < slot.end), NO_SLOT),
            *word.span(),
        )
        for word in _WORD.finditer(text)
    ]


def to_answers(answer: Answer | None) -> list[pb.NaturalQueryResult]:
    """Write one result, with an empty answer for none: clients read the first."""
    return [pb.NaturalQueryResult(answer=answer.text, score=answer.score) if answer else pb.NaturalQueryResult()]


def _token(text: str, class_name: str, start: int, end: int) -> pb.TokenClassValue:
    return pb.TokenClassValue(
        token=text, label=[pb.Classification(class_name=class_name)], span=[pb.Span(start=start, end=end)]
    )
