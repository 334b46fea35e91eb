"""Boosted tokens after a spelling, cached for all texts in the same state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engines.asr.search.biasing import BiasAutomaton, BiasState
    from engines.asr.search.ports import Boosted
    from engines.asr.search.vocabulary import Vocabulary

MAX_BOOSTED = 500_000
"""Tokens with their bonuses that are remembered of all states together: 6 MB."""

# Beginnings of tokens from which on the walk is remembered. States share little of the shorter ones, and beyond the
# longer ones there is little to walk through.
_SHARED_LETTERS = range(2, 5)
_MAX_SHARED = 20_000
# Sums of bonuses are out by less: what earns no more earns nothing.
_MIN_BONUS = 1e-6
_NOTHING = np.zeros(0, np.int64), np.zeros(0)


class BoostFinder:
    """Walks through the tokens that keep a text inside phrases and pairs.

    States differ in the first letters that may follow, and lead to the same few nodes then: after "turn" and after
    "switch" nearly all words begin as they do anywhere. What tokens earn from such a node on is therefore remembered
    apart from what the text earned on its way there.
    """

    def __init__(self, automaton: BiasAutomaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._vocabulary = vocabulary
        self._boosted: dict[BiasState, Boosted] = {}
        self._held = 0
        self._shared: dict[tuple[BiasState, bytes], tuple[NDArray[np.int64], NDArray[np.float64]]] = {}

    def boosted(self, state: BiasState) -> Boosted:
        """Return the tokens that continue a phrase or a pair, with their bonus."""
        found = self._boosted.get(state)
        if found is None:
            found = self._find(state)
            self._held += len(found[0])
            if self._held > MAX_BOOSTED:
                self._boosted.clear()
                self._held = len(found[0])
            self._boosted[state] = found
        return found

    def _find(self, state: BiasState) -> Boosted:
        tokens, gains = self._walk(state, b"")
        bonuses = gains + self._automaton.pending(state)
        earning = bonuses > _MIN_BONUS
        return tokens[earning], bonuses[earning].astype(np.float32)

    def _walk(self, state: BiasState, spelling: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the tokens after ``spelling`` in ``state``, with their bonus."""
        known = self._shared.get((state, spelling))
        if known is not None:
            return known
        tokens: list[NDArray[np.int64]] = []
        gains: list[NDArray[np.float64]] = []
        for letter in self._automaton.continuations(state):
            longer = spelling + bytes([letter])
            if self._vocabulary.has_prefix(longer):
                after, gain = self._automaton.advance(state, bytes([letter]))
                if same := self._vocabulary.tokens(longer):
                    tokens.append(np.array(same, np.int64))
                    gains.append(np.full(len(same), gain))
                further, more = self._walk(after, longer)
                if len(further):
                    tokens.append(further)
                    gains.append(gain + more)
        found = (np.concatenate(tokens), np.concatenate(gains)) if tokens else _NOTHING
        if len(spelling) in _SHARED_LETTERS and len(self._shared) < _MAX_SHARED:
            self._shared[state, spelling] = found
        return found
