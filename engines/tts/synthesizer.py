"""Synthesis of one request: its parts in order, joined between pauses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engines.tts.waveform import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

MIN_SPEED, MAX_SPEED = 0.5, 2.0
MAX_PARTS = 256
MAX_CHARACTERS = 2_000
"""Of all texts and phonemes of a request: some two minutes of speech, a second of work."""
MAX_PAUSE_MS = 10_000

_PIECE_SAMPLES = SAMPLE_RATE
"""Samples of one piece of a pause."""


class BadPartsError(ValueError):
    """Parts that cannot be spoken; the message names the cure and no text."""


class Speaker(Protocol):
    """A voice."""

    def pronounce(self, text: str) -> str:
        """Return the phonemes of a text, in the voice's alphabet."""

    def transcribe(self, phonemes: str) -> str:
        """Return phonemes of the International Phonetic Alphabet in the voice's own."""

    def speak(self, phonemes: str, speed: float, noise: np.random.Generator) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the samples of a run of phonemes, as they are ready."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a request.

    Attributes:
        text: words.
        phonemes: how they are pronounced, in the International Phonetic Alphabet; "": as the voice reads them.
        speed: 1 for the voice's own, 0.5 to 2.
        pause_ms: silence after it, milliseconds.
    """

    text: str
    phonemes: str = ""
    speed: float = 1.0
    pause_ms: int = 0


def check_parts(parts: Sequence[Part]) -> None:
    """Raise BadPartsError unless the parts can be spoken."""
    if not 1 <= len(parts) <= MAX_PARTS:
        raise BadPartsError(f"{len(parts)} parts: send 1 to {MAX_PARTS}")
    if sum(len(part.text) + len(part.phonemes) for part in parts) > MAX_CHARACTERS:
        raise BadPartsError(f"the parts are too long together: send at most {MAX_CHARACTERS:,} characters")
    if not all(MIN_SPEED <= part.speed <= MAX_SPEED for part in parts):
        raise BadPartsError(f"a speed is out of range: send {MIN_SPEED} to {MAX_SPEED}")
    if not all(0 <= part.pause_ms <= MAX_PAUSE_MS for part in parts):
        raise BadPartsError(f"a pause is out of range: send 0 to {MAX_PAUSE_MS:,} ms")


def speak(voice: Speaker, parts: Sequence[Part], seed: int) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the samples of parts in pieces of a second at most, float32 at 24 kHz.

    Parts without a pause between them are one run for the network, as long as their speed is the same.
    """
    noise = np.random.default_rng(seed)
    run: list[Part] = []
    for part, following in itertools.zip_longest(parts, parts[1:]):
        run.append(part)
        if following is None or part.pause_ms or following.speed != part.speed:
            yield from voice.speak(_phonemes(voice, run), part.speed, noise)
            yield from _pause(part.pause_ms)
            run = []


def _phonemes(voice: Speaker, run: Sequence[Part]) -> str:
    spoken = [voice.transcribe(part.phonemes) if part.phonemes else voice.pronounce(part.text) for part in run]
    joined = ""
    for phonemes in spoken:
        glue = "" if not joined or phonemes[:1] in ",.;:!?…" else " "
        joined += glue + phonemes
    return joined


def _pause(milliseconds: int) -> Iterator[npt.NDArray[np.float32]]:
    samples = milliseconds * SAMPLE_RATE // 1000
    for start in range(0, samples, _PIECE_SAMPLES):
        yield np.zeros(min(_PIECE_SAMPLES, samples - start), np.float32)
