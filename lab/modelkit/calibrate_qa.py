"""Calibrates the question answering engine on held-out questions, half of them put to a wrong paragraph."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.span_decoding import Calibration, Candidate, best_span
from modelkit.errors import DataError
from modelkit.scoring import answer_f1, exact_match

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
_LENGTH_PENALTIES = tuple(step / 50 for step in range(11))
"""From 0 to 0.2; with more, answers lose words that they need."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a network says of the windows of one question.

    Attributes:
        question: that was asked.
        offsets: ``[windows, tokens, 2]`` int64, where the tokens stand in its paragraph.
        start_logits: ``[windows, tokens]`` float32.
        end_logits: likewise.
    """

    question: Question
    offsets: npt.NDArray[np.int64]
    start_logits: npt.NDArray[np.float32]
    end_logits: npt.NDArray[np.float32]

    def best(self, length_penalty: float) -> Candidate | None:
        """Finds the best span, of several windows that of the widest margin; a paragraph without words has none."""
        windows = zip(self.offsets, self.start_logits, self.end_logits, strict=True)
        spans = [span for window in windows if (span := best_span(*window, _LONGEST, length_penalty)) is not None]
        return max(spans, key=lambda span: span.margin, default=None)


@dataclass(frozen=True, slots=True)
class Judged:
    """The best span of one question with its F1 and whether it matches exactly, 1.0 or 0.0.

    ``answerable`` tells whether its document holds an answer.
    """

    candidate: Candidate
    f1: float
    exact: float
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
    outputs = run(session, tokenizer, (*questions, *pair_wrongly(questions, seed)))
    length_penalty = choose_length_penalty(outputs)
    judged = judge(outputs, length_penalty)
    bias, margin, rivals = fit_logistic(
        np.array([(j.candidate.margin, j.candidate.rivals) for j in judged]),
        np.array([j.f1 >= RIGHT_F1 for j in judged]),
    )
    probabilities = np.array(
        [_sigmoid(bias + margin * j.candidate.margin + rivals * j.candidate.rivals) for j in judged]
    )
    threshold = choose_threshold(probabilities, judged)
    fitted = Calibration(
        bias=round(bias, 4),
        margin=round(margin, 4),
        rivals=round(rivals, 4),
        threshold=round(threshold, 4),
        length_penalty=length_penalty,
    )
    return fitted, report(probabilities >= threshold, judged)


def run(session: Session, tokenizer: DocumentTokenizer, questions: Sequence[Question]) -> list[Outputs]:
    """Puts every question to its paragraph."""
    outputs = []
    for first in range(0, len(questions), _TOGETHER):
        group = questions[first : first + _TOGETHER]
        encoded = [tokenizer.encode(question.text, question.context) for question in group]
        results = session.run([{name: getattr(batch, name) for name in session.inputs} for batch in encoded])
        outputs += [
            Outputs(question, batch.offsets, result["start_logits"], result["end_logits"])
            for question, batch, result in zip(group, encoded, results, strict=True)
        ]
    return outputs


def choose_length_penalty(outputs: Sequence[Outputs]) -> float:
    """Finds the penalty with the best mean of F1 and exact match, of equals the least.

    The first and the last token of a span are chosen apart from each other, so that two places that both may hold the
    answer make one long span of all that lies between.

    Args:
        outputs: of held-out questions; those without an answer count for nothing.
    """
    answerable = [each for each in outputs if each.question.answers]
    return max(_LENGTH_PENALTIES, key=lambda penalty: sum(j.f1 + j.exact for j in judge(answerable, penalty)))


def judge(outputs: Sequence[Outputs], length_penalty: float = 0.0) -> list[Judged]:
    """Scores the best span of every question; one whose document has no words has none, and is left out."""
    judged = []
    for each in outputs:
        if (span := each.best(length_penalty)) is not None:
            pair = each.question.context[span.start : span.end], each.question.references
            judged.append(Judged(span, answer_f1(*pair), exact_match(*pair), bool(each.question.answers)))
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
