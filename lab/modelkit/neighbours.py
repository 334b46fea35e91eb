"""Words that a network takes for much the same, by its table of words."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from modelkit.augment import is_plain_word

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    import numpy.typing as npt

_FREQUENT = 20_000
"""Of the vocabulary so many pieces count, the first: they stand in the order of how often they are written."""
_NEAREST = 12
"""Words that one may be replaced by."""
_DROPPED = 0.25
"""Words that are left out, for each that is replaced."""


class WordNeighbours:
    """Replaces words by their nearest neighbours among a network's word embeddings.

    A text that was changed so may mean something else, so it has no label any more; what teachers think of it is what a
    pupil can learn from it (Jiao et al., 2020, "TinyBERT", section 3.2).

    Args:
        vocabulary: the number of every piece.
        table: ``[pieces, width]`` float32, an embedding for every number.
    """

    def __init__(self, vocabulary: Mapping[str, int], table: npt.NDArray[np.float32]) -> None:
        pieces = sorted(vocabulary, key=vocabulary.__getitem__)[:_FREQUENT]
        self._words = [piece for piece in pieces if is_plain_word(piece)]
        self._rows = {word: row for row, word in enumerate(self._words)}
        chosen = table[[vocabulary[word] for word in self._words]]
        centred = chosen - chosen.mean(axis=0)
        self._directions = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-6)
        self._near = lru_cache(maxsize=20_000)(self._find)

    def perturb(self, text: str, share: float, rng: random.Random) -> str:
        """Changes words of a text.

        Args:
            text: its words stand between spaces.
            share: probability that a word is replaced; a quarter as often it is left out.
            rng: source of chance.

        Returns:
            The words of the text in lower case, one at least.
        """
        words = text.lower().split()
        kept = [self._replace(word, share, rng) for word in words if rng.random() >= _DROPPED * share]
        return " ".join(kept or words)

    def _replace(self, word: str, share: float, rng: random.Random) -> str:
        near = self._near(word) if rng.random() < share else ()
        return rng.choice(near) if near else word

    def _find(self, word: str) -> tuple[str, ...]:
        """Lists the nearest words, the nearest first; none for a word that is no piece."""
        row = self._rows.get(word)
        if row is None:
            return ()
        likeness = self._directions @ self._directions[row]
        likeness[row] = -np.inf
        return tuple(self._words[other] for other in np.argsort(-likeness, kind="stable")[:_NEAREST])
