"""Decoding of CTC (Graves et al. 2006): greedy, and a beam for alternatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.asr.serving.recognizer import Alternative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engines.asr.fastconformer.transducer import Hypothesis
    from engines.asr.search.hints import PhraseBias

    Floats = NDArray[np.float32]
    Prefix = tuple[int, ...]
    Ends = tuple[float, float]
    """Logarithms of the probability that a prefix ends in a blank, and in its last token."""

_CANDIDATES = 12
"""Tokens of a frame that a beam goes on with."""
_NEVER = -math.inf


def decode_greedily(log_probabilities: Floats, hypothesis: Hypothesis, last: int) -> int:
    """Go on with a hypothesis.

    Args:
        log_probabilities: of the next frames, float32 ``[frames, tokens + 1]``, the blank last.
        hypothesis: is changed.
        last: best token of the frame before, the blank at the beginning.

    Returns:
        The best token of the last frame.
    """
    blank = log_probabilities.shape[1] - 1
    for frame, token in enumerate(log_probabilities.argmax(-1).tolist()):
        if token not in {last, blank}:
            hypothesis.tokens.append(token)
            hypothesis.frames.append(hypothesis.heard + frame)
        last = token
    hypothesis.heard += len(log_probabilities)
    return last


def search(log_probabilities: Floats, wanted: int, bias: PhraseBias | None = None, width: int = 8) -> list[Alternative]:
    """Return the likeliest texts, the best first, by prefix search.

    Graves et al. 2006; Hannun et al. 2014, "First-Pass Large Vocabulary Continuous Speech Recognition".

    Args:
        log_probabilities: of all frames, float32 ``[frames, tokens + 1]``, the blank last.
        wanted: how many.
        bias: hints, or None.
        width: prefixes that are followed.
    """
    blank = log_probabilities.shape[1] - 1
    width = max(width, wanted)
    beams: dict[Prefix, Ends] = {(): (0.0, _NEVER)}
    earned: dict[Prefix, tuple[Any, float]] = {(): (bias.initial, bias.initial_bonus) if bias else (None, 0.0)}
    for row in log_probabilities:
        candidates = np.argpartition(row, -min(_CANDIDATES, len(row)))[-_CANDIDATES:]
        following: dict[Prefix, Ends] = {}
        for prefix, (by_blank, by_token) in beams.items():
            both = _sum(by_blank, by_token)
            again = by_token + float(row[prefix[-1]]) if prefix else _NEVER
            _add(following, prefix, (both + float(row[blank]), again))
            for token in candidates.tolist():
                if token == blank:
                    continue
                longer = (*prefix, token)
                before = by_blank if prefix and prefix[-1] == token else both
                _add(following, longer, (_NEVER, before + float(row[token])))
                if bias and longer not in earned:
                    state, bonus = bias.advance(earned[prefix][0], token)
                    earned[longer] = state, earned[prefix][1] + bonus
        ranked = sorted(following, key=lambda p: -(_sum(*following[p]) + earned.get(p, (None, 0.0))[1]))
        beams = {prefix: following[prefix] for prefix in ranked[:width]}
        earned = {prefix: earned[prefix] for prefix in beams if prefix in earned}
    found = []
    for prefix, probabilities in beams.items():
        log_probability = _sum(*probabilities)
        bonus = earned[prefix][1] + bias.finish(earned[prefix][0]) if bias else 0.0
        found.append(Alternative(prefix, log_probability, log_probability + bonus))
    return sorted(found, key=lambda one: -one.score)[:wanted]


def _add(prefixes: dict[Prefix, Ends], prefix: Prefix, ends: Ends) -> None:
    """Add a way to a prefix to those that are known."""
    known = prefixes.get(prefix, (_NEVER, _NEVER))
    prefixes[prefix] = (_sum(known[0], ends[0]), _sum(known[1], ends[1]))


def _sum(one: float, other: float) -> float:
    """Return the logarithm of the sum of two probabilities given as logarithms."""
    if one < other:
        one, other = other, one
    return one if other == _NEVER else one + math.log1p(math.exp(other - one))
