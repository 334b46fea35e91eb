"""Phrase hints made of what the owner of a domain wrote down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.asr.search.hints import PHRASE_BOOST, SENTENCE_BOOST
from vivavoce import PhraseHints

if TYPE_CHECKING:
    from modelkit.domain import Domain


def domain_hints(domain: Domain, value_boost: float | None, sentence_boost: float | None) -> list[PhraseHints]:
    """Makes one group of the values of all slots, and one of the sentences.

    Args:
        domain: what is said in it.
        value_boost: how strongly values are preferred, 0 to 100; None for what suits a phrase.
        sentence_boost: the same for sentences, also for short ones.
    """
    values = dict.fromkeys(value for listed in domain.slot_values.values() for value in listed)
    return [
        PhraseHints(tuple(values), PHRASE_BOOST if value_boost is None else value_boost),
        PhraseHints(
            tuple(dict.fromkeys(domain.sentences)), SENTENCE_BOOST if sentence_boost is None else sentence_boost
        ),
    ]
