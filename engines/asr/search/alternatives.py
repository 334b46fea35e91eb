"""What callers get to see of the texts that an utterance may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.asr.errors import InvalidHintsError
from engines.asr.search.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.asr.search.ports import Alternative

MAX_ALTERNATIVES = 10


@dataclass(frozen=True, slots=True)
class ScoredText:
    """One text that may have been said.

    Attributes:
        text: the text.
        log_probability: natural logarithm of its probability by the model alone, without what hints give.
        confidence: 0 to 1; how probable it is, hints included, among the texts that the search found.
    """

    text: str
    log_probability: float
    confidence: float


def check_alternatives(wanted: int) -> None:
    """Raises InvalidHintsError if so many alternatives are not served."""
    if not 1 <= wanted <= MAX_ALTERNATIVES:
        raise InvalidHintsError(f"ALTERNATIVES is {wanted}; ask for 1 to {MAX_ALTERNATIVES}.")


def rank_texts(found: Sequence[tuple[str, Alternative]], wanted: int) -> tuple[ScoredText, ...]:
    """Returns the best texts, each once.

    Args:
        found: texts and where they come from, the best first; those that differ in case or punctuation alone count as
            the first of them.
        wanted: how many to return at most.
    """
    best = max(alternative.score for _, alternative in found)
    weights = [math.exp(alternative.score - best) for _, alternative in found]
    distinct: dict[bytes, ScoredText] = {}
    for (text, alternative), weight in zip(found, weights, strict=True):
        key = b" ".join(spell(text).split())
        known = distinct.get(key)
        share = weight / sum(weights) + (known.confidence if known else 0.0)
        chosen = known or ScoredText(text, alternative.log_probability, 0.0)
        distinct[key] = ScoredText(chosen.text, chosen.log_probability, min(1.0, share))
    return tuple(distinct.values())[:wanted]
