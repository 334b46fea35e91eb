"""Decoding of question answering: the best span of all windows, or none."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from engines.bert.tokenizing import NO_OFFSET

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of a span: ``sigmoid(bias + margin * m + rivals * r)``.

    Fitted on held-out questions (Platt, 1999, "Probabilistic Outputs for Support Vector Machines").

    Attributes:
        bias: of the sigmoid.
        margin: weight of ``m``, how far the span's logits, less the penalty for its length, lie above those of
            ``[CLS]`` (Devlin et al., 2019, section 4.3).
        rivals: weight of ``r``, the log of the span's share among all spans of its window.
        threshold: least probability of an answer; below it the document is said to hold none.
        max_answer_tokens: longest answer.
        length_penalty: what each token of a span after its first takes off its logits, 0 or more.
    """

    bias: float = 0.0
    margin: float = 1.0
    rivals: float = 0.0
    threshold: float = 0.5
    max_answer_tokens: int = 30
    length_penalty: float = 0.0

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Read ``calibration.json``: an object with the attributes of this class.

        ``length_penalty`` may be missing, as in engines of before there was one.

        Raises:
            ValueError: the file does not hold them; the message names it.
        """
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                bias=float(fields["bias"]),
                margin=float(fields["margin"]),
                rivals=float(fields["rivals"]),
                threshold=float(fields["threshold"]),
                max_answer_tokens=int(fields["max_answer_tokens"]),
                length_penalty=float(fields.get("length_penalty", 0.0)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no calibration of a question answering model: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer: code points ``start`` to ``end`` (exclusive), with probability.

    Where the document holds no answer, both are :data:`engines.bert.tokenizing.NO_OFFSET`.
    """

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """Best span of one window; figures as in :class:`Calibration`."""

    start: int
    end: int
    margin: float
    rivals: float


class SpanDecoder:
    """Turns logits into an answer.

    Args:
        calibration: of the model that made the logits.
    """

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration

    def decode(
        self,
        offsets: npt.NDArray[np.int64],
        start_logits: npt.NDArray[np.float32],
        end_logits: npt.NDArray[np.float32],
    ) -> Answer:
        """Decode the windows of one question and one document.

        Args:
            offsets: ``[windows, tokens, 2]``, from :class:`engines.bert.tokenizing.DocumentTokenizer`.
            start_logits: ``[windows, tokens]``; those of ``[CLS]``, the first token, speak for "no answer here".
            end_logits: likewise.
        """
        answer = self.best(offsets, start_logits, end_logits)
        if answer.score < self._calibration.threshold:
            return Answer(NO_OFFSET, NO_OFFSET, answer.score)
        return answer

    def best(
        self,
        offsets: npt.NDArray[np.int64],
        start_logits: npt.NDArray[np.float32],
        end_logits: npt.NDArray[np.float32],
    ) -> Answer:
        """Decode without abstaining; see :meth:`decode`."""
        fitted = self._calibration
        answers = [Answer(NO_OFFSET, NO_OFFSET, 0.0)]
        for window in zip(offsets, start_logits, end_logits, strict=True):
            candidate = best_span(*window, fitted.max_answer_tokens, fitted.length_penalty)
            if candidate is not None:
                answers.append(Answer(candidate.start, candidate.end, self._probability(candidate)))
        return max(answers, key=lambda answer: answer.score)

    def _probability(self, candidate: Candidate) -> float:
        """Lies strictly between 0 and 1."""
        fitted = self._calibration
        logit = fitted.bias + fitted.margin * candidate.margin + fitted.rivals * candidate.rivals
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def best_span(
    offsets: npt.NDArray[np.int64],
    start_logits: npt.NDArray[np.float32],
    end_logits: npt.NDArray[np.float32],
    max_tokens: int,
    length_penalty: float = 0.0,
) -> Candidate | None:
    """Find a window's best span: start plus end logit, less a length penalty.

    Args:
        offsets: ``[tokens, 2]``.
        start_logits: ``[tokens]``.
        end_logits: ``[tokens]``.
        max_tokens: longest span.
        length_penalty: see :class:`Calibration`.

    Returns:
        The span, or None where the window holds no token of the document, or the network excludes all of them.
    """
    inside = np.flatnonzero(offsets[:, 0] != NO_OFFSET)
    if not inside.size:
        return None
    starts, ends = start_logits[inside].astype(np.float64), end_logits[inside].astype(np.float64)
    # A row for each first token, a column for each number of tokens after it: few spans are short enough to be allowed.
    reachable = sliding_window_view(np.concatenate([ends, np.full(max_tokens - 1, -np.inf)]), max_tokens)
    scores = starts[:, None] + reachable - length_penalty * np.arange(max_tokens)
    first, more = np.unravel_index(int(scores.argmax()), scores.shape)
    best = float(scores[first, more])
    if best == -math.inf:
        return None
    return Candidate(
        start=int(offsets[inside[first], 0]),
        end=int(offsets[inside[first + more], 1]),
        margin=best - float(start_logits[0]) - float(end_logits[0]),
        rivals=-math.log(float(np.exp(scores - best).sum())),
    )
