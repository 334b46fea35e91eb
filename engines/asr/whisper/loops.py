"""Loops in a text: words that the decoder repeats although they were said once.

Whisper repeats itself where audio is cut off or unclear. People repeat words, too. The room that the repetitions have
in the audio tells: alignment spreads a text over the audio, and what is said again takes its time again.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from engines.asr.repetitions import Repetition, repetition_at, without_overlaps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_COMPRESSION = 2.4
"""Ratio of a text's bytes to its compressed bytes, above which Whisper's authors take it for a loop."""

_MAX_TOKENS = 40
"""Longest phrase whose repetition is looked for."""
_MIN_LONG_TOKENS = 4
"""A phrase of so many tokens is suspicious when it stands there twice, a shorter one from three times on."""
_SECONDS_A_CHARACTER = 0.045
"""Fastest speech: about 22 characters a second."""


def find_repetitions(tokens: Sequence[int]) -> list[Repetition]:
    """Return what is suspiciously often repeated, in order and without overlaps."""
    items = list(tokens)

    def best_at(at: int) -> Repetition | None:
        sizes = range(1, min(_MAX_TOKENS, (len(items) - at) // 2) + 1)
        each = (repetition_at(items, at, size) for size in sizes)
        suspicious = [one for one in each if one.count >= (2 if one.size >= _MIN_LONG_TOKENS else 3)]
        return max(suspicious, key=lambda one: (one.size * one.count, -one.size), default=None)

    return without_overlaps(len(items), best_at)


def is_suspicious(tokens: Sequence[int], text: str) -> bool:
    """Return whether a text may be a loop."""
    data = text.encode()
    return bool(find_repetitions(tokens)) or len(data) > MAX_COMPRESSION * len(zlib.compress(data))


def without_loops(tokens: Sequence[int], starts: Sequence[float], text: Callable[[Sequence[int]], str]) -> list[int]:
    """Return the tokens without the repetitions that the audio has no room for.

    Args:
        tokens: of a text.
        starts: seconds at which each token begins, and at which the last one ends.
        text: returns the text of tokens.
    """
    kept: list[int] = []
    at = 0
    for one in find_repetitions(tokens):
        kept += tokens[at : one.first]
        phrase = tokens[one.first : one.first + one.size]
        seconds = max(0.1, _SECONDS_A_CHARACTER * len(text(phrase)))
        room = max(1, int((starts[one.end] - starts[one.first]) / seconds))
        kept += list(phrase) * min(one.count, room)
        at = one.end
        rest = tokens[at:]
        if room < one.count and len(rest) < one.size and list(rest) == list(phrase[: len(rest)]):
            # The text breaks off in the middle of the loop.
            at = len(tokens)
    return [*kept, *tokens[at:]]
