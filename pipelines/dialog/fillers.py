"""Words that say nothing beside a value."""

from __future__ import annotations

from pipelines.text.language import spoken_language

# fmt: off
FILLERS = frozenset((
    "a", "actually", "an", "and", "at", "be", "bit", "can", "for", "get", "give", "have", "i", "i'd", "i'll", "in",
    "is", "it", "just", "let's", "like", "little", "lot", "lots", "make", "me", "my", "no", "not", "of", "on", "one",
    "ones", "please", "rather", "some", "take", "that", "the", "then", "this", "to", "uh", "um", "want", "with",
    "would", "yes",
))
# fmt: on


def fillers() -> frozenset[str]:
    """Return the words of the present language that say nothing beside a value."""
    language = spoken_language()
    return FILLERS if language is None else language.fillers
