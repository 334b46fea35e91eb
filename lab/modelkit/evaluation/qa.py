"""Judges answers: SQuAD's exact match and F1, and whether the engine knows when there is no answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from modelkit.calibrate_qa import pair_wrongly
from modelkit.evaluation.concurrency import bounded_map
from modelkit.evaluation.outcome import DECIMALS, Case, Evaluation
from modelkit.scoring import answer_f1, exact_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modelkit.evaluation.concurrency import OnProgress
    from modelkit.evaluation.engines import TextEngines
    from modelkit.evaluation.outcome import Json
    from modelkit.squad import Question

WRONG_SEED = 11
"""Decides which wrong paragraph each question is put to."""


async def evaluate_qa(
    engines: TextEngines, questions: Sequence[Question], *, concurrency: int, on_progress: OnProgress
) -> Evaluation:
    """Puts every question to its paragraph and, where the set has others, to a wrong one."""
    wrong = pair_wrongly(questions, WRONG_SEED) if len({question.context for question in questions}) > 1 else []
    asked = [*questions, *wrong]
    began = time.monotonic()
    answers = await bounded_map(lambda q: engines.answer(q.text, q.context), asked, concurrency, on_progress)
    seconds = time.monotonic() - began
    cases = [_case(question, answer) for question, answer in zip(asked, answers, strict=True)]
    return Evaluation("qa", len(questions), score_answers(questions, answers), seconds, cases)


def score_answers(questions: Sequence[Question], answers: Sequence[str]) -> dict[str, Json]:
    """Scores the answers to ``questions`` and, behind them, to the same questions put to wrong paragraphs.

    Returns:
        ``exact_match`` and ``f1`` of the former, where withholding an answer that is there scores 0. ``answered``:
        share that got an answer of those that have one. ``abstained``: share that got none of those that have none,
        wrong paragraphs included. ``answer_or_not_accuracy``: the mean of both. The last two are None in a set
        without questions of that kind.
    """
    own, elsewhere = answers[: len(questions)], answers[len(questions) :]
    references = [question.references for question in questions]
    pairs = list(zip(own, references, strict=True))
    given = [bool(answer) for answer, reference in pairs if reference]
    withheld = [not answer for answer, reference in pairs if not reference] + [not answer for answer in elsewhere]
    answered, abstained = _mean(given), _mean(withheld)
    both = None if answered is None or abstained is None else (answered + abstained) / 2
    return {
        "exact_match": _rounded(_mean([exact_match(*pair) for pair in pairs])),
        "f1": _rounded(_mean([answer_f1(*pair) for pair in pairs])),
        "answered": _rounded(answered),
        "abstained": _rounded(abstained),
        "answer_or_not_accuracy": _rounded(both),
    }


def _case(question: Question, answer: str) -> Case:
    texts = question.references
    name = question.id if texts else f"{question.id} where no answer is"
    reference: Json = {"question": question.text, "answers": list(dict.fromkeys(texts))}
    return Case(name, reference, answer, round(answer_f1(answer, texts), DECIMALS))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
