"""Greedy decoding of a transducer in batches.

Graves 2012, "Sequence Transduction with Recurrent Neural Networks". The rows of a batch are decoded together, each at
its own frame: a call of the joint network looks at the next frames of every row, up to the first that holds a token
(label looping, Galvez et al. 2024).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engines.asr.fastconformer.shape import Shape
    from engines.asr.search.hints import PhraseBias
    from engines.session import Session

    Floats = NDArray[np.float32]

_FRAMES_AHEAD = 4
"""Frames that one call of the joint network looks at: most hold no token."""
PLAUSIBLE = 6.0
"""Tokens that the network finds so much less probable (natural logarithm) than the best earn nothing by hints."""


@dataclass(slots=True)
class Hypothesis:
    """Tokens of one utterance so far.

    Attributes:
        tokens: without blanks.
        frames: encoder frame in which each was found.
        heard: encoder frames that were decoded.
        hidden: state of the prediction network, float32 ``[layers, width]``; None before the first token.
        cell: the same.
        predicted: what it expects after the last token, float32 ``[joint]``.
        bias: position in the hints.
    """

    tokens: list[int] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    heard: int = 0
    hidden: Floats | None = None
    cell: Floats | None = None
    predicted: Floats | None = None
    bias: Any = None

    def fork(self) -> Hypothesis:
        """Return a copy that can be gone on with by itself."""
        return dataclasses.replace(self, tokens=list(self.tokens), frames=list(self.frames))


@dataclass(slots=True)
class _Row:
    """One row of a batch while it is decoded."""

    hypothesis: Hypothesis
    encoded: Floats
    bias: PhraseBias | None
    frame: int = 0
    emitted: int = 0

    @property
    def ahead(self) -> Floats:
        return self.encoded[self.frame : self.frame + _FRAMES_AHEAD]


class Transducer:
    """Prediction and joint network on onnxruntime."""

    def __init__(self, shape: Shape, predictor: Session, joint: Session) -> None:
        self._shape = shape
        self._predictor = predictor
        self._joint = joint
        zeros = np.zeros((1, shape.predictor_layers, shape.predictor_width), np.float32)
        self._silence = self._predict([shape.blank], zeros, zeros)

    def decode(
        self, encoded: Sequence[Floats], hypotheses: Sequence[Hypothesis], biases: Sequence[PhraseBias | None]
    ) -> None:
        """Go on with hypotheses.

        Args:
            encoded: of each row, float32 ``[frames, width]``.
            hypotheses: one a row; they are changed.
            biases: hints of each row, or None.
        """
        rows = [_Row(*row) for row in zip(hypotheses, encoded, biases, strict=True)]
        for row in rows:
            if row.hypothesis.predicted is None:
                self._begin(row)
        waiting = [row for row in rows if len(row.encoded)]
        while waiting:
            found = [row for row, token in zip(waiting, self._next(waiting), strict=True) if token]
            self._expect(found)
            waiting = [row for row in waiting if row.frame < len(row.encoded)]
        for row in rows:
            row.hypothesis.heard += len(row.encoded)

    def _begin(self, row: _Row) -> None:
        predicted, hidden, cell = self._silence
        row.hypothesis.predicted, row.hypothesis.hidden, row.hypothesis.cell = predicted[0], hidden[0], cell[0]
        row.hypothesis.bias = row.bias.initial if row.bias else None

    def _next(self, rows: Sequence[_Row]) -> list[bool]:
        """Move each row on to its next token; tell which found one."""
        ahead = [row.ahead for row in rows]
        expected = np.repeat([row.hypothesis.predicted for row in rows], [len(own) for own in ahead], axis=0)
        (logits,) = self._joint.run(None, {"encoded": np.concatenate(ahead), "predicted": expected})
        ends = np.cumsum([len(own) for own in ahead])
        return [self._take(row, logits[end - len(own) : end]) for row, own, end in zip(rows, ahead, ends, strict=True)]

    def _take(self, row: _Row, logits: Floats) -> bool:
        best = logits.argmax(-1)
        (spoken,) = np.nonzero(best != self._shape.blank)
        if not len(spoken):
            row.frame += len(logits)
            row.emitted = 0
            return False
        step = int(spoken[0])
        row.emitted = row.emitted + 1 if step == 0 else 1
        row.frame += step
        hypothesis = row.hypothesis
        token = int(best[step])
        if row.bias is not None:
            token = _preferred(logits[step, : self._shape.blank], token, row.bias, hypothesis.bias)
            hypothesis.bias, _ = row.bias.advance(hypothesis.bias, token)
        hypothesis.tokens.append(token)
        hypothesis.frames.append(hypothesis.heard + row.frame)
        if row.emitted >= self._shape.max_symbols:
            row.frame += 1
            row.emitted = 0
        return True

    def _expect(self, rows: Sequence[_Row]) -> None:
        """Predict what comes after the last token of each row."""
        if not rows:
            return
        hypotheses = [row.hypothesis for row in rows]
        hidden, cell = (np.stack([getattr(one, name) for one in hypotheses]) for name in ("hidden", "cell"))
        after = self._predict([one.tokens[-1] for one in hypotheses], hidden, cell)
        for one, predicted, own_hidden, own_cell in zip(hypotheses, *after, strict=True):
            one.predicted, one.hidden, one.cell = predicted, own_hidden, own_cell

    def _predict(self, tokens: Sequence[int], hidden: Floats, cell: Floats) -> tuple[Floats, Floats, Floats]:
        inputs = {"tokens": np.array(tokens, np.int64), "hidden": hidden, "cell": cell}
        predicted, hidden, cell = self._predictor.run(None, inputs)
        return predicted, hidden, cell


def _preferred(logits: Floats, best: int, bias: PhraseBias, state: Any) -> int:  # noqa: ANN401 - the bias's own
    """Return the best token with what hints earn; ``best`` is so without."""
    tokens, earned = bias.boosted(state)
    if not len(tokens):
        return best
    scores = logits[tokens] + earned
    scores[logits[tokens] < logits[best] - PLAUSIBLE] = -np.inf
    hinted = int(scores.argmax())
    return int(tokens[hinted]) if scores[hinted] > logits[best] else best
