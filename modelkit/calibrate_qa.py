"""Calibrates the question answering engine on held-out questions, half of them put to a wrong paragraph."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.span_decoding import Calibration, Candidate, best_span
from modelkit.errors import DataError
from modelkit.scoring import answer_f1

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from engines.bert.tokenizing import DocumentTokenizer
    from modelkit.sessions import Session
    from modelkit.squad import Question

_AS_GOOD = 0.01
RIGHT_F1 = 0.5
"""A span with at least this F1 against a reference counts as right."""
_TOGETHER = 16
_LONGEST = Calibration().max_answer_tokens


@dataclass(frozen=True, slots=True)
class Judged:
    """The best span of one question with its F1; ``answerable`` tells whether its document holds an answer."""

    candidate: Candidate
    f1: float
    answerable: bool


def pair_wrongly(questions: Sequence[Question], seed: int) -> list[Question]:
    """Puts every question to a paragraph of another one, where nothing answers it.

    Raises:
        DataError: all are about one paragraph.
    """
    rng = random.Random(seed)
    contexts = sorted({question.context for question in questions})
    if len(contexts) == 1:
        raise DataError(
            f"{len(questions)} questions about one paragraph cannot be put to another: give questions about several"
        )
    return [
        replace(question, context=rng.choice([c for c in contexts if c != question.context]), answers=())
        for question in questions
    ]


def calibrate(
    session: Session,
    tokenizer: DocumentTokenizer,
    questions: Sequence[Question],
    seed: int,
    source: str = "the data held out to calibrate with",
) -> tuple[Calibration, dict[str, float]]:
    """Fits the score and chooses the threshold under which the engine abstains.

    Args:
        session: runs the network.
        tokenizer: makes its inputs.
        questions: that the network was not trained on.
        seed: of their wrong paragraphs.
        source: what to call the questions in errors.

    Returns:
        The calibration, and scores on the same questions.

    Raises:
        DataError: there are too few questions, or none has an answer.
    """
    if len({question.context for question in questions}) < 2:
        raise DataError(f"{source} has questions about one paragraph or none: calibrate on many paragraphs")
    if not any(question.answers for question in questions):
        raise DataError(f"{source} has no question with an answer: calibrate on data with answers")
    judged = judge(session, tokenizer, (*questions, *pair_wrongly(questions, seed)))
    bias, margin, rivals = fit_logistic(
        np.array([(j.candidate.margin, j.candidate.rivals) for j in judged]),
        np.array([j.f1 >= RIGHT_F1 for j in judged]),
    )
    probabilities = np.array(
        [_sigmoid(bias + margin * j.candidate.margin + rivals * j.candidate.rivals) for j in judged]
    )
    threshold = choose_threshold(probabilities, judged)
    fitted = Calibration(round(bias, 4), round(margin, 4), round(rivals, 4), round(threshold, 4))
    return fitted, report(probabilities >= threshold, judged)


def judge(session: Session, tokenizer: DocumentTokenizer, questions: Sequence[Question]) -> list[Judged]:
    """Finds and scores the best span of every question; of several windows that of the widest margin speaks.

    A document without words has no span, and its question is left out.
    """
    judged = []
    for first in range(0, len(questions), _TOGETHER):
        group = questions[first : first + _TOGETHER]
        encoded = [tokenizer.encode(question.text, question.context) for question in group]
        results = session.run([{name: getattr(batch, name) for name in session.inputs} for batch in encoded])
        for question, batch, outputs in zip(group, encoded, results, strict=True):
            windows = zip(batch.offsets, outputs["start_logits"], outputs["end_logits"], strict=True)
            found = [span for window in windows if (span := best_span(*window, _LONGEST)) is not None]
            if found:
                best = max(found, key=lambda candidate: candidate.margin)
                answer = question.context[best.start : best.end]
                f1 = answer_f1(answer, [text for _, text in question.answers])
                judged.append(Judged(best, f1, bool(question.answers)))
    return judged


def fit_logistic(features: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> tuple[float, ...]:
    """Fits a logistic regression by Newton's method, with a slight pull of the weights to 0.

    Args:
        features: ``[rows, features]``.
        right: ``[rows]``.

    Returns:
        The bias, then one weight a feature.
    """
    design = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(design.shape[1])
    penalty = 1e-3 * np.diag([0.0, *np.ones(features.shape[1])])
    for _ in range(50):
        probability = _sigmoid(design @ weights)
        gradient = design.T @ (probability - right) / len(right) + penalty @ weights
        curvature = (design * (probability * (1 - probability))[:, None]).T @ design / len(right) + penalty
        weights -= np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), gradient)
    return tuple(float(weight) for weight in weights)


def choose_threshold(probabilities: npt.NDArray[np.float64], judged: Sequence[Judged]) -> float:
    """Finds the lowest threshold with about the best mean F1; abstaining is right on a question without an answer.

    The mean hardly changes over a wide range, and on a few hundred questions its peak is a matter of chance: of
    thresholds that are as good as each other the one that answers most is taken.
    """
    given = np.array([j.f1 if j.answerable else 0.0 for j in judged])
    abstained = np.array([0.0 if j.answerable else 1.0 for j in judged])
    thresholds = np.linspace(0.02, 0.9, 89)
    means = np.array([float(np.where(probabilities >= t, given, abstained).mean()) for t in thresholds])
    return float(thresholds[int(np.argmax(means >= means.max() - _AS_GOOD))])


def report(answered: npt.NDArray[np.bool_], judged: Sequence[Judged]) -> dict[str, float]:
    """Scores of answers given and withheld."""
    answerable = np.array([j.answerable for j in judged])
    f1 = np.array([j.f1 for j in judged])
    return {
        "questions": len(judged),
        "f1_answerable_forced": round(float(f1[answerable].mean()), 4),
        "f1_answerable": round(float((f1 * answered)[answerable].mean()), 4),
        "answer_or_not_accuracy": round(float((answered == answerable).mean()), 4),
    }


def _sigmoid(logits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))
