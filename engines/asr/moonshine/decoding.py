"""Batched greedy decoding that starts from drafts.

An utterance is decoded again whenever more of it has been heard, and most of the earlier hypothesis usually holds.
It serves as a *draft*: its tokens go through the decoder in one pass, the longest prefix that agrees with what greedy
decoding would have chosen is kept, and decoding goes on from there. The result is that of greedy decoding from the
start token; only the number of passes is smaller. This is the verification step of Leviathan et al. 2023, "Fast
Inference from Transformers via Speculative Decoding", at temperature zero, with the past as the draft model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engines.asr.moonshine.vocabulary import END_TOKEN, START_TOKEN
from engines.asr.serving.utterance import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Speech has fewer tokens than this; more are a sign of a loop (the bound that Moonshine's authors recommend).
_TOKENS_PER_SECOND = 6.5
_EXTRA_TOKENS = 6

LONGEST_CYCLE = 16
"""Longest run of tokens whose repetition is looked for."""
LOOP_TOKENS = 16
"""A hypothesis loops when a cycle fills at least so many tokens at its end …"""
LOOP_REPEATS = 4
"""… and is there at least so many times."""


def token_limit(samples: int) -> int:
    """Return the most tokens that an utterance of so many samples may have."""
    return math.ceil(samples / SAMPLE_RATE * _TOKENS_PER_SECOND) + _EXTRA_TOKENS


class TokenPredictor(Protocol):
    """The decoder, with the keys and values of the rows of one batch."""

    def begin(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """Run the first tokens of every row.

        Args:
            tokens: ``[rows, steps]``; what lies beyond a row's length is ignored.
            lengths: ``[rows]``, at least 1.

        Returns:
            ``[rows, steps]``: the most probable token after each token.
        """

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int32]) -> NDArray[np.int64]:
        """Run one more token of every row; return the most probable next, ``[rows]``.

        Args:
            tokens: ``[rows]``.
            positions: ``[rows]``; where the token stands. What was run there or later before is forgotten.
        """

    def retire(self, row: int) -> None:
        """Drop a row; the last row takes its place."""


@dataclass(slots=True)
class Hypothesis:
    """Tokens decoded so far, without start and end token.

    Attributes:
        limit: The most tokens it may have.
        tokens: The tokens.
        done: Whether it is complete: ended, at its limit, or cut because it had begun to loop.
    """

    limit: int
    tokens: list[int] = field(default_factory=list)
    done: bool = False

    def append(self, token: int) -> None:
        """Add the next token, and sees whether it is the last."""
        if token == END_TOKEN:
            self.done = True
            return
        self.tokens.append(token)
        cycle = find_loop(self.tokens)
        self.tokens = list(trim_loop(self.tokens, cycle))
        self.done = bool(cycle) or len(self.tokens) >= self.limit


def find_loop(tokens: Sequence[int]) -> int:
    """Return the shortest cycle that ``tokens`` ends in; 0 without a loop.

    Autoregressive recognizers fall into loops on noise and on cut-off speech; a loop never ends by itself.
    """
    for cycle in range(1, LONGEST_CYCLE + 1):
        span = max(LOOP_TOKENS, LOOP_REPEATS * cycle)
        if len(tokens) >= span and tokens[-span:-cycle] == tokens[-span + cycle :]:
            return cycle
    return 0


def trim_loop(tokens: Sequence[int], cycle: int) -> Sequence[int]:
    """Return ``tokens`` with one round of their final cycle of this length."""
    end = len(tokens)
    while cycle and end >= 2 * cycle and tokens[end - cycle : end] == tokens[end - 2 * cycle : end - cycle]:
        end -= cycle
    return tokens[:end]


def decode_greedily(
    predictor: TokenPredictor, drafts: Sequence[Sequence[int]], limits: Sequence[int]
) -> list[Hypothesis]:
    """Decode a batch of rows, each from a draft.

    Args:
        predictor: The decoder, ready for ``len(drafts)`` rows.
        drafts: What each row probably begins with; empty where nothing is known.
        limits: The most tokens of each row, at least 1.

    Returns:
        One complete hypothesis a row, the same as with empty drafts.
    """
    hypotheses = [Hypothesis(limit) for limit in limits]
    rows = _verify_drafts(predictor, drafts, hypotheses)
    while rows:
        tokens = np.array([hypothesis.tokens[-1] for hypothesis in rows], np.int64)
        # The start token stands at position 0, so the last token stands at the number of tokens.
        positions = np.array([len(hypothesis.tokens) for hypothesis in rows], np.int32)
        following = predictor.step(tokens, positions).tolist()
        for hypothesis, token in zip(rows, following, strict=True):
            hypothesis.append(token)
        rows = _retire_done(predictor, rows)
    return hypotheses


def _verify_drafts(
    predictor: TokenPredictor, drafts: Sequence[Sequence[int]], hypotheses: list[Hypothesis]
) -> list[Hypothesis]:
    """Accept the agreeing prefix of every draft; return the open hypotheses."""
    starts = [[START_TOKEN, *draft[: hypothesis.limit]] for draft, hypothesis in zip(drafts, hypotheses, strict=True)]
    lengths = np.array([len(start) for start in starts], np.int32)
    tokens = np.full((len(starts), lengths.max()), END_TOKEN, np.int64)
    for row, start in zip(tokens, starts, strict=True):
        row[: len(start)] = start
    following = predictor.begin(tokens, lengths).tolist()
    for hypothesis, start, predicted in zip(hypotheses, starts, following, strict=True):
        for drafted, token in zip([*start[1:], END_TOKEN], predicted, strict=False):
            hypothesis.append(token)
            if hypothesis.done or token != drafted:
                break
    return _retire_done(predictor, hypotheses)


def _retire_done(predictor: TokenPredictor, rows: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Drop complete rows from the batch, in the order of the predictor's moves."""
    left = list(rows)
    for row in range(len(left) - 1, -1, -1):
        if left[row].done:
            predictor.retire(row)
            left[row] = left[-1]
            left.pop()
    return left
