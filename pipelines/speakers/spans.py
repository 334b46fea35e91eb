"""Spans of speech with their speaker, and what follows from them."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.recognition import SpeakerSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipelines.data.recognition import Speaker, TimedWord


MIN_SILENCE_SAMPLES = round(0.16 * MODEL_RATE_HZ)
"""Silence that belongs to no speaker; shorter ones lie between words."""
MAX_CHANGE_SAMPLES = round(0.5 * MODEL_RATE_HZ)
"""How far a change of speakers may be from the silence that it lies in: voices are compared over 1.6 s."""


def within(spans: Sequence[SpeakerSpan], start: int, end: int) -> tuple[SpeakerSpan, ...]:
    """Return spans cut to what lies between two samples."""
    cut = (SpeakerSpan(max(span.start, start), min(span.end, end), span.speaker) for span in spans)
    return tuple(span for span in cut if span.start < span.end)


def without_silence(spans: Sequence[SpeakerSpan], silences: Sequence[tuple[int, int]]) -> tuple[SpeakerSpan, ...]:
    """Return spans that change in the longest silence nearby, and without long ones.

    Args:
        spans: in order.
        silences: their first sample and one past their last, in order.
    """
    spans = list(spans)
    for place, (one, other) in enumerate(itertools.pairwise(tuple(spans))):
        if one.end == other.start:
            start = spans[place].start
            at = _change(one.end, [silence for silence in silences if start < sum(silence) // 2 < other.end])
            spans[place : place + 2] = SpeakerSpan(start, at, one.speaker), SpeakerSpan(at, other.end, other.speaker)
    for begin, end in silences:
        if end - begin >= MIN_SILENCE_SAMPLES:
            spans = [part for span in spans for part in _around(span, begin, end)]
    return tuple(spans)


def _change(at: int, silences: Sequence[tuple[int, int]]) -> int:
    """Return the middle of the longest silence near a change, or the change."""
    near = [(end - begin, (begin + end) // 2) for begin, end in silences]
    return max((one for one in near if abs(one[1] - at) <= MAX_CHANGE_SAMPLES), default=(0, at))[1]


def _around(span: SpeakerSpan, begin: int, end: int) -> tuple[SpeakerSpan, ...]:
    """Return the parts of a span before and after a silence."""
    if end <= span.start or span.end <= begin:
        return (span,)
    return (*within((span,), span.start, begin), *within((span,), end, span.end))


def main_speaker(spans: Sequence[SpeakerSpan]) -> Speaker | None:
    """Return the speaker of most of an utterance; None where nobody was told apart."""
    spoken: dict[Speaker, int] = {}
    for span in spans:
        spoken[span.speaker] = spoken.get(span.speaker, 0) + span.end - span.start
    return max(spoken, key=spoken.__getitem__, default=None)


def only_name(spans: Sequence[SpeakerSpan]) -> str:
    """Return the enrolled name of an utterance's speaker; "" where another spoke too."""
    names = {span.speaker.name for span in spans}
    return names.pop() if len(names) == 1 else ""


def with_speakers(words: Iterable[TimedWord], spans: Sequence[SpeakerSpan]) -> tuple[TimedWord, ...]:
    """Return words with the speaker of the span nearest to their middle."""
    return tuple(dataclasses.replace(word, speaker=_nearest(word, spans)) for word in words) if spans else tuple(words)


def _nearest(word: TimedWord, spans: Sequence[SpeakerSpan]) -> Speaker:
    middle = (word.start + word.end) // 2
    return min(spans, key=lambda span: max(span.start - middle, middle - span.end, 0)).speaker
