"""Phrase hints that travel with the engine of a domain: what its owner wrote that people say there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_PHRASES = 1_000
MAX_CHARACTERS = 60_000
MAX_WORD = 50
"""As the service takes them of callers."""
SENTENCE_BOOST = 5.0
"""Decibels, also of short sentences; see ``engines/asr``."""


def hint_groups(sentences: Sequence[str], slot_values: Mapping[str, Sequence[str]]) -> list[dict[str, object]]:
    """Makes a group of the values of all slots, and one of the sentences, as far as there is room for them.

    Args:
        sentences: of the domain.
        slot_values: all values of each slot.
    """
    values = dict.fromkeys(value for listed in slot_values.values() for value in listed)
    kept: dict[str, None] = {}
    characters = 0
    for phrase in (*values, *sentences):
        characters += len(phrase)
        if len(kept) == MAX_PHRASES or characters > MAX_CHARACTERS:
            break
        if all(len(word) <= MAX_WORD for word in phrase.split()):
            kept[phrase] = None
    groups = (
        ([phrase for phrase in kept if phrase in values], None),
        ([phrase for phrase in kept if phrase not in values], SENTENCE_BOOST),
    )
    return [{"phrases": phrases, "boost": boost} for phrases, boost in groups if phrases]
