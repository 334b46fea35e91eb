"""Alternative texts of an utterance, as callers see them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engines.asr.search.spelling import spell
from engines.asr.serving.utterance import ScoredText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.asr.serving.recognizer import Alternative


def rank_texts(found: Sequence[tuple[str, Alternative]], wanted: int) -> tuple[ScoredText, ...]:
    """Return the best texts, each once.

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
