"""Prepositions that tell slots of one kind apart: "from checking to savings"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.dialog.agent.value_list import spoken_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.dialog.agent.form import Intent

_SAME = {"into": "to", "until": "to", "till": "to", "onto": "to", "towards": "to", "starting": "from", "through": "to"}
_PREPOSITIONS = frozenset(
    (
        "from",
        "to",
        "at",
        "in",
        "on",
        "for",
        "by",
        "with",
        "after",
        "before",
        "since",
        "via",
        "between",
        "under",
        "over",
        *_SAME,
    )
)
_NAMES = {
    "from": frozenset(
        ("from", "source", "origin", "start", "begin", "departure", "depart", "sender", "check in", "arrive")
    ),
    "to": frozenset(
        ("to", "target", "goal", "destination", "end", "finish", "recipient", "receiver", "until", "leave")
    ),
}
"""Names of slots that a preposition stands for, also as a word of a longer name."""
_BEFORE = r"([a-z]+)(?: (?:the|your|my|a|an))? "


def preposition_of(word: str) -> str:
    """Return the preposition that a word is, "until" being "to"; "" where it is none."""
    return _SAME.get(word, word) if word in _PREPOSITIONS else ""


def prepositions_of(intent: Intent, sentences: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return each slot's prepositions, from sentences, prompts and its name.

    Args:
        intent: of an agent.
        sentences: of the intent, with slots marked as ``[Rome](goal)``.
    """
    texts = [text.lower() for text in (intent.confirm or "", *(answer.say for answer in intent.response))]
    marked = [sentence.lower() for sentence in sentences]
    found: dict[str, frozenset[str]] = {}
    for name, slot in intent.slots.items():
        lower = re.escape(name.lower())
        words = [match for text in texts for match in re.findall(rf"{_BEFORE}\{{{lower}\}}", text)]
        words += [match for text in marked for match in re.findall(rf"{_BEFORE}\[[^\]]*\]\({lower}\)", text)]
        words += [word for prompt in slot.prompt for word in re.findall(r"[a-z]+", prompt.lower())[:2]]
        parts = set(spoken_name(name).split())
        words += [preposition for preposition, names in _NAMES.items() if parts & names]
        found[name] = frozenset(filter(None, map(preposition_of, words)))
    return found
