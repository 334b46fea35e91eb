"""Alternatives of an utterance, from those of its segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.data.recognition import Alternative

if TYPE_CHECKING:
    from collections.abc import Iterable


def join_alternatives(segments: Iterable[tuple[str, tuple[Alternative, ...]]], most: int) -> tuple[Alternative, ...]:
    """Return the most probable sequences of the segments' texts.

    Args:
        segments: the text of each, and what it may be, the best first; nothing where only the text is known.
        most: how many to return at most, at least 1.

    Returns:
        At least one: that of the segments' best texts, which is what is taken for said, and then the most probable
        of the others. Confidences multiply, as if segments had nothing to do with one another.
    """
    joined = [Alternative("", 1.0)]
    for text, alternatives in segments:
        best, *others = [
            Alternative(" ".join(filter(None, (before.text, one.text))), before.confidence * one.confidence)
            for before in joined
            for one in alternatives or (Alternative(text, 1.0),)
        ]
        joined = [best, *sorted(others, key=lambda one: -one.confidence)][:most]
    return tuple(joined)
