"""Who says what, and when: the scripts of all callers of a load, drawn from one seed."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.sla.material import RATE_HZ, Item, samples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

SPREAD_SECONDS = 5.0
"""Callers arrive within so many seconds of each other."""
PAUSE_SECONDS = 2.0
"""Mean of the exponentially distributed silence between one recording and the next."""
_SILENCE_SECONDS = 0.7
"""Silence after a recording, its own included: enough for its utterance to be over before the next one begins."""
_QUIET = 1 / 50
"""What stays below this share of a recording's loudest sample is its silence."""
_FULL_SCALE = (-32768, 32767)
_ROOM = 10 ** (-64 / 20) * 32768
"""Standard deviation of a quiet room's noise, -64 dBFS."""


@dataclass(frozen=True, slots=True)
class Mix:
    """What kinds of callers there are.

    Attributes:
        listeners: share of callers who never speak, 0 to 1; they send the noise of a quiet room.
        questions: share of the speaking ones who ask about a document, 0 to 1; the others give commands.
    """

    listeners: float = 0.1
    questions: float = 0.3


@dataclass(frozen=True, slots=True)
class Line:
    """One utterance in a script: what is said, and the sample of the caller's stream in which its recording begins."""

    item: Item
    first_sample: int


@dataclass(frozen=True, slots=True)
class Script:
    """One caller.

    Attributes:
        arrival_seconds: when the caller connects, from the beginning of the load.
        lines: what is said, in order; empty for a listener.
        document: what questions are about.
        samples: length of the stream.
        seed: of the room's noise.
    """

    arrival_seconds: float
    lines: tuple[Line, ...]
    document: Path | None
    samples: int
    seed: int


def write_scripts(items: Sequence[Item], streams: int, seconds: float, mix: Mix, seed: int) -> list[Script]:
    """Draws the scripts of a load.

    Args:
        items: what can be said.
        streams: how many callers.
        seconds: how long each of them stays.
        mix: what kinds of callers.
        seed: same seed, same scripts.
    """
    rng = random.Random(seed)
    kinds = _kinds(streams, mix, rng)
    commands = [item for item in items if item.document is None] or list(items)
    about: dict[Path, list[Item]] = defaultdict(list)
    for item in items:
        if item.document is not None:
            about[item.document].append(item)
    scripts = []
    for kind in kinds:
        document = rng.choice(sorted(about)) if kind == "question" and about else None
        said = [] if kind == "listener" else about[document] if document else commands
        scripts.append(_script(said, document, seconds, rng))
    return scripts


def _kinds(streams: int, mix: Mix, rng: random.Random) -> list[str]:
    """Names the kind of every caller: exact shares, in random order."""
    listeners = min(streams - 1, round(streams * mix.listeners))
    questions = round((streams - listeners) * mix.questions)
    kinds = ["listener"] * listeners + ["question"] * questions
    kinds += ["command"] * (streams - len(kinds))
    rng.shuffle(kinds)
    return kinds


def _script(said: Sequence[Item], document: Path | None, seconds: float, rng: random.Random) -> Script:
    arrival = rng.uniform(0, SPREAD_SECONDS)
    length = round(seconds * RATE_HZ)
    lines: list[Line] = []
    position = round(rng.uniform(0, PAUSE_SECONDS) * RATE_HZ)
    while said:
        item = rng.choice(said)
        size = len(samples(item.path)) + _lacking(item.path)
        if position + size > length and lines:
            break
        lines.append(Line(item, position))
        position += size + round(rng.expovariate(1 / PAUSE_SECONDS) * RATE_HZ)
    # Whatever was begun is heard to its end, and what follows it is answered.
    end = max(length, _end_of(lines[-1]) if lines else 0)
    return Script(arrival, tuple(lines), document, end, rng.randrange(1 << 30))


def _end_of(line: Line) -> int:
    """Returns the sample in which a recording and the silence after it are over."""
    return line.first_sample + len(samples(line.item.path)) + _lacking(line.item.path)


@cache
def _lacking(path: Path) -> int:
    """Counts the samples of silence that a recording's own end lacks."""
    loudness = np.abs(samples(path).astype(np.int32))
    loud = np.flatnonzero(loudness > _QUIET * loudness.max(initial=0))
    own = len(loudness) - 1 - loud[-1] if loud.size else len(loudness)
    return max(0, round(_SILENCE_SECONDS * RATE_HZ) - int(own))


def spoken(script: Script) -> npt.NDArray[np.int16]:
    """Gives a caller's whole stream, int16 ``[samples]`` at :data:`RATE_HZ`: the recordings in a quiet room."""
    rng = np.random.default_rng(script.seed)
    stream = rng.normal(0, _ROOM, script.samples).astype(np.int32)
    for line in script.lines:
        said = samples(line.item.path)
        stream[line.first_sample : line.first_sample + len(said)] += said
    return stream.clip(*_FULL_SCALE).astype(np.int16)
