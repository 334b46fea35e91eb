"""Protocols and plain data between beam search, decoder and hints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from engines.asr.serving.recognizer import Alternative

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray

S = TypeVar("S", bound="Hashable")

Boosted = tuple["NDArray[np.int64]", "NDArray[np.float32]"]
"""Tokens, int64 ``[n]``, and what they earn more than all others, float32 ``[n]``."""


class Bias(Protocol[S]):
    """Bias: bonus of tokens beside their probability."""

    @property
    def initial(self) -> S:
        """State at the beginning of a text."""

    @property
    def initial_bonus(self) -> float:
        """Bonus at the beginning: the first letter of every phrase is a space."""

    @property
    def closing(self) -> frozenset[int]:
        """Tokens that end a sentence."""

    def spelling(self, token: int) -> bytes:
        """Return the letters that a token spells, as far as they matter."""

    def advance(self, state: S, token: int) -> tuple[S, float]:
        """Return the state after ``token`` and its bonus, negative when given back."""

    def finish(self, state: S) -> float:
        """Return what the end of the text earns."""

    def boosted(self, state: S) -> Boosted:
        """Return the tokens that earn more than all others."""


class Candidates(NamedTuple):
    """Candidates after each row.

    Attributes:
        tokens: int64 ``[rows, candidates]``; the last is the end token, which may also stand among the others.
        log_probabilities: float32 ``[rows, candidates]``.
    """

    tokens: NDArray[np.int64]
    log_probabilities: NDArray[np.float32]


class CandidateScorer(Protocol):
    """The decoder, with the keys and values of the beams of one batch."""

    def begin(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32], boosted: Sequence[Boosted]) -> Candidates:
        """Run the first tokens of every row, ``[rows, steps]``; see ``TokenPredictor``.

        Args:
            tokens: what lies beyond a row's length is ignored.
            lengths: ``[rows]``, at least 1.
            boosted: for each row, what is added to which tokens before the best are chosen.
        """

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int32], boosted: Sequence[Boosted]) -> Candidates:
        """Run one more token of every row; forget what was run from there on."""

    def copy(self, source: int, target: int, positions: int) -> None:
        """Let row ``target`` continue the first ``positions`` of row ``source``."""

    def retire(self, utterance: int) -> None:
        """Drop the rows of an utterance; those of the last utterance take their place."""


NOTHING = Alternative((), 0.0, 0.0)
"""Silence, certainly."""


@dataclass(frozen=True, slots=True)
class SearchTask(Generic[S]):
    """Settings of the search for one utterance.

    Attributes:
        bias: what is preferred.
        limit: the most tokens of a text, at least 1.
        wanted: how many alternatives are looked for.
        prefix: tokens that the text begins with; they are not questioned.
    """

    bias: Bias[S]
    limit: int
    wanted: int = 1
    prefix: tuple[int, ...] = ()
