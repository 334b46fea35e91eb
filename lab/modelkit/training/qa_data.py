"""Gathers and checks what a question answering engine is trained on, before anything else is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modelkit.errors import DataError
from modelkit.squad import read_squad
from modelkit.training.splits import split_articles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modelkit.squad import Question


@dataclass(frozen=True, slots=True)
class QaData:
    """Questions to train on, others to validate and calibrate with, and those of ``--test``."""

    training: tuple[Question, ...]
    validation: tuple[Question, ...]
    test: tuple[Question, ...]


def gather(data: Sequence[Path], *, test: Path | None, validation: float) -> QaData:
    """Reads and checks all files and splits off the validation set.

    Args:
        data: SQuAD files.
        test: one whose paragraphs must not be among ``data``.
        validation: share of the questions.

    Raises:
        DataError: something is wrong with a file, or with all of them together.
    """
    questions = list(dict.fromkeys(question for path in data for question in read_squad(path)))
    tested = tuple(read_squad(test)) if test else ()
    contexts = {question.context for question in questions}
    common = [question for question in tested if question.context in contexts]
    if common:
        raise DataError(
            f"{len(common)} of the {len(tested)} questions of {test} are put to paragraphs of the training data, "
            f"as question {common[0].id}: take them out of one of the two"
        )
    training, validating = split_articles(questions, validation)
    if len({question.context for question in training}) < 2 or len({q.context for q in validating}) < 2:
        raise DataError(
            f"{len(questions)} questions on {len(contexts)} paragraphs are too few to train and validate with: "
            "give more data, or another --validation"
        )
    if not any(question.answers for question in training) or not any(q.answers for q in validating):
        raise DataError("hardly a question has an answer: give data with answers")
    return QaData(tuple(training), tuple(validating), tested)
