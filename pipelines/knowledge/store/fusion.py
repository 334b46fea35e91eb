"""Reciprocal rank fusion of ranked lists (Cormack, Clarke and Büttcher, 2009)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SMOOTHING = 5
"""What is added to every rank: how much less a second place counts than a first. The paper has 60; chosen on questions
of SQuADShifts (docs/knowledge.md), where so short lists as ours want a smaller one."""

CANDIDATES = 50
"""Passages of each of the two rankings that are fused."""
WEIGHT_OF_WORDS = 1.5
"""How much more the ranking by words counts than that by meaning; chosen as :data:`SMOOTHING` was."""


def fuse(rankings: Iterable[tuple[float, Sequence[int]]]) -> list[tuple[int, float]]:
    """Join rankings of ids.

    Args:
        rankings: weight of each, and its ids, the best first.

    Returns:
        Every id with the weighted sum of its reciprocal ranks, the highest first; of equals that with the lower id.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for weight, ranking in rankings:
        for rank, member in enumerate(ranking, 1):
            scores[member] += weight / (SMOOTHING + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
