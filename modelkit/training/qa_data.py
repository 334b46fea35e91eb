"""Gathers and checks what a question answering engine is trained on, before anything else is done."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from modelkit.errors import DataError
from modelkit.squad import read_squad

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modelkit.squad import Question


class Placed(Protocol):
    """A text and where it comes from."""

    @property
    def article(self) -> str:
        """Title of the article; "" where there is none."""

    @property
    def context(self) -> str:
        """The paragraph."""


PlacedT = TypeVar("PlacedT", bound=Placed)

_MOST_OF_ARTICLE = 0.05
"""An article with a greater share of all questions is taken apart into its paragraphs."""


@dataclass(frozen=True, slots=True)
class QaData:
    """Questions to train on, others to validate and calibrate with, and those of ``--test``."""

    training: tuple[Question, ...]
    validation: tuple[Question, ...]
    test: tuple[Question, ...]


def gather(data: Sequence[Path], *, test: Path | None, validation: float, seed: int) -> QaData:
    """Reads and checks all files and splits off the validation set.

    Args:
        data: SQuAD files.
        test: one whose paragraphs must not be among ``data``.
        validation: share of the questions.
        seed: of the split.

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
    training, validating = split(questions, validation, random.Random(seed))
    if len({question.context for question in training}) < 2 or len({q.context for q in validating}) < 2:
        raise DataError(
            f"{len(questions)} questions on {len(contexts)} paragraphs are too few to train and validate with: "
            "give more data, or another --validation"
        )
    if not any(question.answers for question in training) or not any(q.answers for q in validating):
        raise DataError("hardly a question has an answer: give data with answers")
    return QaData(tuple(training), tuple(validating), tested)


def split(questions: Sequence[PlacedT], share: float, rng: random.Random) -> tuple[list[PlacedT], list[PlacedT]]:
    """Splits off about ``share`` of the questions, or of other texts, whole articles, so that no text is on both sides.

    Returns:
        The questions to train on, and those to validate on.
    """
    sizes = Counter(question.article for question in questions)

    def group(question: PlacedT) -> tuple[str, str]:
        small = question.article and sizes[question.article] <= _MOST_OF_ARTICLE * len(questions)
        return question.article, "" if small else question.context

    groups: dict[tuple[str, str], list[PlacedT]] = {}
    for question in questions:
        groups.setdefault(group(question), []).append(question)
    names = list(groups)
    rng.shuffle(names)
    training: list[PlacedT] = []
    validating: list[PlacedT] = []
    for name in names:
        (validating if len(validating) < share * len(questions) else training).extend(groups[name])
    rng.shuffle(training)
    rng.shuffle(validating)
    return training, validating
