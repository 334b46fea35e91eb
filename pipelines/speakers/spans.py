"""Spans of speech with their speaker, and what follows from them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipelines.models.ports import Speaker, TimedWord


@dataclass(frozen=True, slots=True)
class SpeakerSpan:
    """Speech of one speaker: samples ``start`` to ``end`` (exclusive), at 16 kHz."""

    start: int
    end: int
    speaker: Speaker


def within(spans: Sequence[SpeakerSpan], start: int, end: int) -> tuple[SpeakerSpan, ...]:
    """Return spans cut to what lies between two samples."""
    cut = (SpeakerSpan(max(span.start, start), min(span.end, end), span.speaker) for span in spans)
    return tuple(span for span in cut if span.start < span.end)


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
