"""Counts the priors of ``engines.bert.tag_priors``, and chooses how much they weigh and how sure a slot must be."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.tag_priors import TagPriors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from engines.bert.intent_decoding import IntentLabels
    from modelkit.nlu import Utterance

SLOT_WEIGHTS = (0.0, 0.4, 0.8, 1.2)
TRANSITION_WEIGHTS = (0.0, 0.15, 0.3, 0.45)
LEAST = (0.0, 0.4, 0.5, 0.6)
_RARE = 20.0
"""A tag that was seen less often than this is trusted less than the tags in general."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted, not weighted yet; shapes as in :class:`engines.bert.tag_priors.TagPriors`."""

    slots_given_intent: npt.NDArray[np.float32]
    transitions: npt.NDArray[np.float32]

    def weighted(self, slot_weight: float, transition_weight: float, least: float) -> TagPriors:
        """Weighs the counts; for ``least`` see :class:`engines.bert.tag_priors.TagPriors`."""
        return TagPriors(self.slots_given_intent, slot_weight, np.float32(transition_weight) * self.transitions, least)


def count(utterances: Iterable[Utterance], tag_rows: Iterable[Sequence[int]], labels: IntentLabels) -> Counts:
    """Counts slots and tags.

    Args:
        utterances: labelled ones; those of an intent that is no label are left out.
        tag_rows: the tag of every word of each utterance.
        labels: names of intents and tags.
    """
    intents = {name: row for row, name in enumerate(labels.intents)}
    slots = {name: column for column, name in enumerate(labels.slot_names)}
    tags = len(labels.tags)
    having = np.zeros((len(intents), len(slots)))
    seen = np.zeros(len(intents))
    following = np.zeros((tags + 1, tags))
    for utterance, row in zip(utterances, tag_rows, strict=True):
        if utterance.intent not in intents:
            continue
        intent = intents[utterance.intent]
        seen[intent] += 1
        for name in {slot.name for slot in utterance.slots}:
            having[intent, slots[name]] += 1
        for before, after in pairwise((tags, *row)):
            following[before, after] += 1
    shares = having / np.maximum(seen, 1)[:, np.newaxis]
    return Counts(shares.astype(np.float32), _surprise(following).astype(np.float32))


def _surprise(following: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Pointwise mutual information of neighbours, 0 where too little was seen to tell."""
    general = (following.sum(axis=0) + 0.1) / (following.sum() + 0.1 * following.shape[1])
    after = (following + _RARE * general) / (following.sum(axis=1, keepdims=True) + _RARE)
    surprise: npt.NDArray[np.float64] = np.log(after / general)
    return surprise


def choose_weights(counts: Counts, score: Callable[[TagPriors], float]) -> TagPriors:
    """Returns the priors of the highest score, the lighter ones of equals."""
    candidates = [counts.weighted(*weights) for weights in product(SLOT_WEIGHTS, TRANSITION_WEIGHTS, LEAST)]
    return max(candidates, key=score)
