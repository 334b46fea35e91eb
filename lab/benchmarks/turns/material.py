"""Pauses that systems judge: those that recordings have, and those that are put into them.

What is drawn for a recording hangs on its name and the seed alone.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from modelkit.turn.halves import name_number, read_samples
from modelkit.turn.pauses import SAMPLE_RATE, Pause, Recording, find_pauses, spliced_end, spliced_pauses

if TYPE_CHECKING:
    from modelkit.turn.hearing import Hearing

SPLICED = 2
"""Pauses that are put into a recording, each in a copy of its own."""
MIN_SECONDS, MAX_SECONDS = 0.2, 2.0
"""How long they last; the logarithm is drawn evenly, as short pauses are common and long ones rare."""

_NARRATIONS = ("two_cities.wav", "beckett.wav")
_NARRATED_SECONDS = 12.0
"""Of a narration, as much before a pause is heard."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A pause that systems judge.

    Attributes:
        pause: where it is.
        text: recognized words up to it.
        seconds: how long the speaker is silent; of an end for good.
    """

    pause: Pause
    text: str
    seconds: float


def natural(recording: Recording, hearing: Hearing) -> list[Judged]:
    """Finds the pauses of a recording and its end, as they are."""
    return [_judged(pause, hearing, pause.seconds) for pause in find_pauses(recording)]


def spliced(recording: Recording, hearing: Hearing, seed: int) -> list[Judged]:
    """Makes pauses and an end of a recording."""
    rng = np.random.default_rng([seed, name_number(recording.name)])
    made = []
    for pause in spliced_pauses(recording, hearing.gaps(recording.samples), SPLICED, rng):
        seconds = float(np.exp(rng.uniform(np.log(MIN_SECONDS), np.log(MAX_SECONDS))))
        made.append(_judged(pause, hearing, seconds))
    end = spliced_end(recording, rng)
    return made if end is None else [*made, _judged(end, hearing, end.seconds)]


def narrated(hearing: Hearing) -> list[Judged]:
    """Finds the pauses of the narrations that come with the package moonshine-voice; none where they are not there."""
    spec = importlib.util.find_spec("moonshine_voice")
    folder = Path(spec.origin).parent / "assets" if spec is not None and spec.origin is not None else Path()
    found = []
    for path in (folder / name for name in _NARRATIONS):
        if path.is_file():
            recording = Recording.of(path.name, read_samples(path))
            found += [_judged(_recent(pause), hearing, pause.seconds) for pause in find_pauses(recording)]
    return [judged for judged in found if not judged.pause.is_end]


def _judged(pause: Pause, hearing: Hearing, seconds: float) -> Judged:
    return Judged(pause, hearing.text(pause.heard(MIN_SECONDS)), seconds)


def _recent(pause: Pause) -> Pause:
    """Returns a pause of which no more is heard than of a turn."""
    begin = max(0, pause.start - round(_NARRATED_SECONDS * SAMPLE_RATE))
    rest = Recording(pause.recording.name, pause.recording.samples[begin:], pause.recording.speech)
    return Pause(rest, pause.start - begin, pause.seconds, is_end=pause.is_end)
