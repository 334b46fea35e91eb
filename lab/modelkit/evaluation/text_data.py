"""Reads labelled texts in every format that training takes, and texts that lie outside of a domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modelkit.errors import DataError
from modelkit.nlu import read_utterances
from modelkit.rasa import read_rasa
from modelkit.squad import read_squad

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.nlu import Utterance
    from modelkit.squad import Question

_YAML = frozenset({".yaml", ".yml"})


def read_labelled(path: Path) -> list[Utterance]:
    """Reads utterances: Rasa's YAML, or JSON Lines.

    Raises:
        DataError: the file is not of that form, or holds none.
    """
    found = list(read_rasa(path).utterances) if path.suffix.lower() in _YAML else read_utterances(path)
    if not found:
        raise DataError(f"{path} holds no utterances: give a file that does")
    return found


def read_questions(path: Path) -> list[Question]:
    """Reads questions in SQuAD's JSON.

    Raises:
        DataError: the file is not of that form, or holds none.
    """
    found = read_squad(path)
    if not found:
        raise DataError(f"{path} holds no questions: give a file that does")
    return found


def read_outside(path: Path) -> list[str]:
    """Reads texts alone: the questions of a ``.json`` in SQuAD's format, or utterances.

    Raises:
        DataError: the file is not of that form, or holds none.
    """
    if path.suffix.lower() == ".json":
        return [question.text for question in read_questions(path)]
    return [utterance.text for utterance in read_labelled(path)]
