"""Contrast sentences: the same things said as orders, questions, statements and reports, plain and negated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engines.bert.utterance_kinds import CLASSES
from modelkit.errors import DataError
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTRAST = Path(__file__).with_name("contrast.txt")
HELD_OUT = 5
"""Every so many sentences of a section one is never trained on."""


class Labelled(NamedTuple):
    """A sentence and its class, by its place in :data:`engines.bert.utterance_kinds.CLASSES`."""

    text: str
    label: int


class ContrastSet(NamedTuple):
    """Sentences to train with, and those that were held out."""

    training: Sequence[Labelled]
    held_out: Sequence[Labelled]


def kind_of(label: int) -> tuple[str, bool]:
    """Returns the kind that callers are told for a class, and whether it is negated."""
    name, _, negated = CLASSES[label].partition(" ")
    return "statement" if name == "report" else name, bool(negated)


def read_contrast(path: Path = CONTRAST) -> ContrastSet:
    """Reads a file of sections: ``[command negated]``, then a sentence a line; ``#`` begins a comment.

    Raises:
        DataError: the file cannot be read, or a line stands where it means nothing; the message names it.
    """
    found, held_out = list[Labelled](), list[Labelled]()
    label, number = -1, 0
    for line_number, line in enumerate(read_text(path).split("\n"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("["):
            if text[1:-1] not in CLASSES:
                raise DataError(f"{path}, line {line_number}: write one of [{'], ['.join(CLASSES)}]")
            label, number = CLASSES.index(text[1:-1]), 0
            continue
        if label < 0:
            raise DataError(f"{path}, line {line_number}: begin with a section such as [{CLASSES[0]}]")
        number += 1
        (held_out if number % HELD_OUT == 0 else found).append(Labelled(text, label))
    return ContrastSet(found, held_out)
