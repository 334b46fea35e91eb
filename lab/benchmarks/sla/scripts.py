"""Who says what, and when: the scripts of all callers of a load, drawn from one seed."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
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
_INTERRUPTION_SECONDS = 1.2
"""From the last sound of a question to the first of the next one, where that interrupts a reply."""
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
        spoken: share of those who ask to whom replies are spoken, 0 to 1.
        interruptions: share of their questions, 0 to 1, that begin while the reply before may still be spoken.
    """

    listeners: float = 0.1
    questions: float = 0.3
    spoken: float = 0.0
    interruptions: float = 0.2


@dataclass(frozen=True, slots=True)
class Line:
    """One utterance in a script: what is said, and the sample of the caller's stream in which its recording begins."""

    item: Item
    first_sample: int

    @property
    def onset(self) -> int:
        """Sample of the caller's stream in which the first sound is."""
        return self.first_sample + _loud_part(self.item.path)[0]

    @property
    def speech_end(self) -> int:
        """One past the sample of the caller's stream in which the last sound is.

        It is read off the recording, whatever a detector of voice would make of it.
        """
        return self.first_sample + _loud_part(self.item.path)[1]


@dataclass(frozen=True, slots=True)
class Script:
    """One caller.

    Attributes:
        arrival_seconds: when the caller connects, from the beginning of the load.
        lines: what is said, in order; empty for a listener.
        document: what questions are about.
        samples: length of the stream.
        seed: of the room's noise.
        is_answered_aloud: whether replies are spoken.
    """

    arrival_seconds: float
    lines: tuple[Line, ...]
    document: Path | None
    samples: int
    seed: int
    is_answered_aloud: bool = False


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
    # Of its own, so that the same seed has the same callers say the same, whether replies are spoken or not.
    voices = random.Random(seed + 1)
    for kind in kinds:
        document = rng.choice(sorted(about)) if kind == "question" and about else None
        said = [] if kind == "listener" else about[document] if document else commands
        is_answered_aloud = document is not None and voices.random() < mix.spoken
        script = _script(said, document, seconds, rng)
        scripts.append(_with_interruptions(script, mix.interruptions, voices) if is_answered_aloud else script)
    return scripts


def _with_interruptions(script: Script, share: float, rng: random.Random) -> Script:
    """Lets some lines begin :data:`_INTERRUPTION_SECONDS` after the last sound of the one before."""
    lines: list[Line] = []
    earlier = 0
    for line in script.lines:
        moved = Line(line.item, line.first_sample - earlier)
        if lines and rng.random() < share:
            begins = lines[-1].speech_end + round(_INTERRUPTION_SECONDS * RATE_HZ)
            earlier += max(0, moved.onset - begins)
            moved = Line(line.item, line.first_sample - earlier)
        lines.append(moved)
    return replace(script, lines=tuple(lines), is_answered_aloud=True)


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
    own = len(samples(path)) - _loud_part(path)[1]
    return max(0, round(_SILENCE_SECONDS * RATE_HZ) - own)


@cache
def _loud_part(path: Path) -> tuple[int, int]:
    """Returns the first sample of a recording that is no silence, and one past the last; zeros where all is silence."""
    loudness = np.abs(samples(path).astype(np.int32))
    loud = np.flatnonzero(loudness > _QUIET * loudness.max(initial=0))
    return (int(loud[0]), int(loud[-1]) + 1) if loud.size else (0, 0)


def spoken(script: Script) -> npt.NDArray[np.int16]:
    """Gives a caller's whole stream, int16 ``[samples]`` at :data:`RATE_HZ`: the recordings in a quiet room."""
    rng = np.random.default_rng(script.seed)
    stream = rng.normal(0, _ROOM, script.samples).astype(np.int32)
    for line in script.lines:
        said = samples(line.item.path)
        stream[line.first_sample : line.first_sample + len(said)] += said
    return stream.clip(*_FULL_SCALE).astype(np.int16)
