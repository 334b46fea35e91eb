"""Labels the sentences of a domain: the longest values that stand in a sentence are its slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.bert.closed_slots import ClosedSlots
from engines.bert.slots import Slot
from engines.bert.spoken_words import spoken_form
from modelkit.domain import SENTENCES, SLOT_VALUES
from modelkit.errors import DataError
from modelkit.markup import parse_marks
from modelkit.nlu import Utterance

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.domain import Domain


def label_sentences(domain: Domain, intent: str, folder: Path, *, file: Path | None = None) -> list[Utterance]:
    """Finds the slots of every sentence of a domain.

    "medium roast" is a roast although "medium" is a size: the values that together explain most of a sentence count. A
    sentence may mark its slots itself, ``fly to [Rome](destination)``, and must where two slots share a value.

    Args:
        domain: sentences and values.
        intent: what all the sentences ask for.
        folder: of the domain, for messages.
        file: of the sentences, for messages; None: ``sentences.txt`` in the folder.

    Raises:
        DataError: a value is in the lists of two slots and unmarked, or a mark is wrong.
    """
    closed = ClosedSlots(domain.slot_values, least_score=1.0)
    shared = _shared(domain)
    utterances = []
    for number, sentence in enumerate(domain.sentences, 1):
        place = f"{file or folder / SENTENCES}, sentence {number}"
        try:
            text, marked = parse_marks(sentence)
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
        for slot in marked:
            if closed.resolve(slot.name, text[slot.start : slot.end]) is None:
                value = text[slot.start : slot.end]
                listed = SLOT_VALUES if file is None else f"values/{slot.name}.txt"
                raise DataError(f"{place}: {value!r} is no value of {slot.name} in {listed}: add it there")
        if not marked:
            _check_unshared(text, shared, place)
        found = marked or closed.settle(text, ())
        utterances.append(Utterance(text, intent, tuple(Slot(s.name, s.start, s.end) for s in found), place))
    return utterances


def _shared(domain: Domain) -> dict[str, tuple[str, str]]:
    """Finds the values that two slots have, in their spoken form, with the names of the slots."""
    owners: dict[str, str] = {}
    shared: dict[str, tuple[str, str]] = {}
    for name, values in domain.slot_values.items():
        for value in map(spoken_form, values):
            if owners.setdefault(value, name) != name:
                shared[value] = owners[value], name
    return shared


def _check_unshared(text: str, shared: dict[str, tuple[str, str]], place: str) -> None:
    padded = f" {spoken_form(text)} "
    for value, (one, other) in shared.items():
        if f" {value} " in padded:
            raise DataError(f"{place}: {value!r} may be {one} or {other}: mark it, as in [{value}]({one})")
