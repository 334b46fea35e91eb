"""Tells when each word of an utterance was said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.moonshine.alignment import warp
from engines.asr.moonshine.features import SAMPLES_PER_ENCODER_FRAME, SAMPLES_SEEN_BY_ENCODER_FRAME
from engines.asr.moonshine.marks import without_doubled_marks, without_open_end
from engines.asr.serving.recognizer import TimedWord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engines.asr.tokenizer import TokenizedWord

# Between two frames lies what the middle of neither is nearer to.
_BOUNDARY = (SAMPLES_SEEN_BY_ENCODER_FRAME - SAMPLES_PER_ENCODER_FRAME) // 2
_WINDOW = 160
_QUIET_DECIBELS = 35.0
# Speech has silence in it, too: the closure before a "p" or a "t" is shorter.
_SHORTEST_PAUSE = 8


def time_words(
    words: Sequence[TokenizedWord], weights: NDArray[np.float32], audio: NDArray[np.float32]
) -> tuple[TimedWord, ...]:
    """Place words; they come in order, do not overlap, and lie within the audio.

    Args:
        words: which tokens each is made of.
        weights: float32 ``[tokens + 1, frames]``; how much each token, and the end token, looked at each frame.
        audio: float32 ``[samples]``.
    """
    # Where a token begins; the end token begins where the last word ends.
    samples = np.minimum(warp(weights) * SAMPLES_PER_ENCODER_FRAME + _BOUNDARY, len(audio))
    samples[0] = 0
    loud = _loud_windows(audio)
    return tuple(
        TimedWord(word.text, *_without_pauses(int(samples[word.first]), int(samples[word.end]), loud)) for word in words
    )


def with_tidy_marks(words: Sequence[TimedWord]) -> tuple[TimedWord, ...]:
    """Return the words of a text with punctuation; see ``marks``."""
    tidy = [replace(word, text=without_doubled_marks(word.text)) for word in words]
    tidy[-1:] = [replace(word, text=without_open_end(word.text)) for word in tidy[-1:]]
    return tuple(word for word in tidy if word.text)


def _loud_windows(audio: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which 10 ms windows are nearly as loud as the loudest, bool."""
    windows = len(audio) // _WINDOW
    power = np.square(audio[: windows * _WINDOW]).reshape(windows, _WINDOW).mean(axis=1)
    loud: NDArray[np.bool_] = power >= power.max(initial=0.0) * 10 ** (-_QUIET_DECIBELS / 10)
    return loud


def _without_pauses(start: int, end: int, loud: NDArray[np.bool_]) -> tuple[int, int]:
    """Cut pauses off a word: attention does not tell them from the words around them."""
    first = start // _WINDOW
    voiced = np.flatnonzero(loud[first : end // _WINDOW])
    if not len(voiced):
        return start, end
    begin, stop = (first + int(voiced[0])) * _WINDOW, (first + int(voiced[-1]) + 1) * _WINDOW
    pause = _SHORTEST_PAUSE * _WINDOW
    return (begin if begin - start >= pause else start, stop if end - stop >= pause else end)
