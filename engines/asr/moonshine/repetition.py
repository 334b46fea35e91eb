"""Loops in a text: words that the decoder repeats although they were said once.

Autoregressive recognizers repeat themselves where speech is cut off or unclear: "a more amiable, amiable, amiable".
People repeat words, too: "five, five, five". Cross attention tells the two apart. What is said again is looked for
further on in the audio; a loop looks at the same place again, or back. On human recordings cut every 0.25 s and on
words that were really said two to five times, attention moves on by at most 0.11 s within a loop and by at least 0.2 s
between spoken repetitions.

Of short words that are said fast and often, "no no no no", attention blurs which is which. They stay where the audio
that all of them look at has room for so many. In 847 beginnings of recordings no loop had.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.moonshine.alignment import warp
from engines.asr.repetitions import Repetition, repetition_at, without_overlaps
from engines.asr.search.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engines.asr.tokenizer import TokenizedWord

MAX_PHRASE_WORDS = 8
"""Longest phrase whose repetition is looked for."""

MIN_FRAMES = 4
"""Frames of the encoder, of 24 ms, that a word or phrase takes at least when it is said again."""

MIN_ADVANCE_FRAMES = 6
"""Frames that attention moves on at least from one time that something is said to the next."""

MIN_SYLLABLE_FRAMES = 7
"""Frames that a syllable takes at least of a word that is said several times."""

MIN_LONG_FIGURES = 5
"""Figures at the end of a text from which on the decoder may have gone on with them by itself."""
MIN_UNSAID_FIGURES = 2

MIN_BLURRED_FRAMES = 3
"""Frames that are left to each time that such a word is said."""

_FUNCTION_WORDS = frozenset(
    b"a an the and or of to in on at is are was were be me my i you it he she we they this that with for from as by"
    b" but so if do did does had has have".split()
)
"""Nobody repeats them in a row, and decoders do."""


def find_repetitions(words: Sequence[TokenizedWord]) -> list[Repetition]:
    """Return what is repeated, in order; each word belongs to one repetition at most.

    Numbers in figures are left out: "555" is one word, and digits say nothing about how it was spoken.
    """
    keys = [spell(word.text).strip() for word in words]

    def best_at(at: int) -> Repetition | None:
        best = max((_repetition_at(keys, at, size) for size in range(1, MAX_PHRASE_WORDS + 1)), key=_covered)
        return best if best.count > 1 else None

    return without_overlaps(len(keys), best_at)


def without_loops(tokens: Sequence[int], words: Sequence[TokenizedWord], weights: NDArray[np.float32]) -> list[int]:
    """Return the tokens without the repetitions that were not said.

    Args:
        tokens: of a text.
        words: which of them each word is made of.
        weights: float32 ``[tokens + 1, frames]``; how much each token, and the end token, looked at each frame.
    """
    starts = warp(weights)
    frames = np.arange(weights.shape[1])
    centres = weights @ frames
    masses = weights.sum(axis=1)
    dropped: set[int] = set()
    for repetition in find_repetitions(words):
        blurs = _has_room(words, repetition, starts)
        spans = [_span(words, repetition, number) for number in range(repetition.count)]
        centre = [float(centres[a:b].sum() / max(masses[a:b].sum(), 1e-9)) for a, b in spans]
        last_said, was_said = centre[0], True
        for (begin, end), place in zip(spans[1:], centre[1:], strict=True):
            frames_of_it = starts[end] - starts[begin]
            if blurs:
                was_said = frames_of_it >= MIN_BLURRED_FRAMES
            else:
                was_said = frames_of_it >= MIN_FRAMES and place - last_said >= MIN_ADVANCE_FRAMES
            if was_said:
                last_said = place
            else:
                dropped.update(range(begin, end))
        if not was_said and _goes_on(words, repetition):
            dropped.update(range(spans[-1][1], len(tokens)))
    return [token for index, token in enumerate(tokens) if index not in dropped]


def first_of_figures(pieces: Sequence[str]) -> int:
    """Return the first token of a text's final figures, with the signs between.

    Args:
        pieces: text of each token.
    """
    first = len(pieces)
    while first and not any(map(str.isalpha, pieces[first - 1])):
        first -= 1
    return first if sum(map(_is_figure, pieces[first:])) >= MIN_LONG_FIGURES else len(pieces)


def without_unsaid_figures(tokens: Sequence[int], pieces: Sequence[str], weights: NDArray[np.float32]) -> list[int]:
    """Return the tokens without the figures at the end that were not said.

    Numbers that look like the beginning of a telephone number are completed by the decoder: "4046" to "4046-666-6666".
    There is no audio left for what it adds.

    Args:
        tokens: of a text, whose figures are a token each.
        pieces: text of each token.
        weights: see :func:`without_loops`.
    """
    first, frames = first_of_figures(pieces), np.diff(warp(weights))
    kept, spare = len(tokens), 1
    # One of them gets the frames that are left.
    while kept > first and (not frames[kept - 1] or spare):
        spare -= bool(frames[kept - 1])
        kept -= 1
    if sum(map(_is_figure, pieces[kept:])) < MIN_UNSAID_FIGURES:
        return list(tokens)
    while kept > first and not _is_figure(pieces[kept - 1]):
        kept -= 1
    return list(tokens[:kept])


def _is_figure(piece: str) -> bool:
    return piece.strip().isdecimal()


def _has_room(words: Sequence[TokenizedWord], repetition: Repetition, starts: NDArray[np.int64]) -> bool:
    """Return whether a repeated word has audio enough to be said so often."""
    key = spell(words[repetition.first].text).strip()
    if repetition.size > 1 or key in _FUNCTION_WORDS or not key.isascii():
        return False
    syllables = max(1, len(re.findall(rb"[aeiouy]+", re.sub(rb"e$", b"", key.lower()))))
    begin, end = _span(words, repetition, 0)[0], _span(words, repetition, repetition.count - 1)[1]
    return bool(starts[end] - starts[begin] >= MIN_SYLLABLE_FRAMES * syllables * repetition.count)


def _repetition_at(keys: Sequence[bytes], at: int, size: int) -> Repetition:
    phrase = keys[at : at + size]
    if len(phrase) == size and all(phrase) and not any(map(_has_figures, phrase)):
        return repetition_at(keys, at, size)
    return Repetition(at, size, 1)


def _has_figures(key: bytes) -> bool:
    return any(48 <= byte < 58 for byte in key)


def _covered(repetition: Repetition) -> tuple[int, int]:
    """Prefer what covers more words, then the shorter phrase."""
    return (repetition.size * repetition.count if repetition.count > 1 else 0), -repetition.size


def _span(words: Sequence[TokenizedWord], repetition: Repetition, number: int) -> tuple[int, int]:
    """Return one occurrence of the phrase: first token, and one past the last."""
    first = repetition.first + number * repetition.size
    return words[first].first, words[first + repetition.size - 1].end


def _goes_on(words: Sequence[TokenizedWord], repetition: Repetition) -> bool:
    """Return whether the text breaks off at the beginning of the phrase."""
    rest = [spell(word.text).strip() for word in words[repetition.end :]]
    phrase = [spell(word.text).strip() for word in words[repetition.first : repetition.first + repetition.size]]
    if not rest or len(rest) > repetition.size:
        return False
    return rest[:-1] == phrase[: len(rest) - 1] and phrase[len(rest) - 1].startswith(rest[-1])
