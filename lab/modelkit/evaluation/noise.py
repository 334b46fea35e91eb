"""Noise, mixed into recordings at a signal-to-noise ratio."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import soxr

from modelkit.errors import DataError
from modelkit.evaluation.recordings import Clip, read_clip

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ACTIVE_FRAME_SECONDS = 0.02
ACTIVE_BELOW_LOUDEST_DB = 30.0
"""Frames that lie no further below the loudest one count as speech."""
LOUDEST_FRAME_SECONDS = 0.128
SEED = 5


class Level(Enum):
    """What of speech and noise is set into the ratio."""

    ACTIVE = "active"
    """Mean power of the frames with speech, over the mean power of the noise beneath the recording."""
    LOUDEST = "loudest"
    """Power of the loudest 0.128 s of each, as in Picovoice's Speech-to-Intent Benchmark. Noise with bangs comes out
    softer so."""


@dataclass(frozen=True, slots=True)
class Noise:
    """A recording of noise."""

    path: Path
    clip: Clip

    @classmethod
    def read(cls, path: Path) -> Noise:
        """Reads a recording.

        Raises:
            DataError: it is silent.
            FileNotFoundError: there is no such file.
            vivavoce.NotAudio: it cannot be read as audio.
        """
        clip = read_clip(path)
        if not clip.samples.any():
            raise DataError(f"{path} is silent: give a recording of noise")
        return cls(path, clip)

    def under(self, speech: Clip, snr_db: float, name: str, level: Level) -> Clip:
        """Mixes a piece of the noise into ``speech``; softens all of it where the sum would be clipped.

        Args:
            speech: the recording.
            snr_db: how far the speech is above the noise, in dB.
            name: decides which piece is taken: the same name gets the same piece at every ratio.
            level: what is compared.

        Raises:
            DataError: the piece is silent.
        """
        noise = self._piece(len(speech.samples), speech.sample_rate_hz, name)
        if level is Level.LOUDEST:
            powers = (loudest_power(speech), loudest_power(Clip(noise, speech.sample_rate_hz)))
        else:
            powers = (active_power(speech), mean_power(noise))
        if not powers[1]:
            raise DataError(f"{self.path} is silent for long: cut the silence out")
        gain = np.sqrt(powers[0] / powers[1] / 10 ** (snr_db / 10))
        mixed = speech.samples + gain * noise
        softer = max(1.0, float(np.abs(mixed).max()))
        return Clip((mixed / softer).astype(np.float32), speech.sample_rate_hz)

    def _piece(self, length: int, sample_rate_hz: int, name: str) -> NDArray[np.float32]:
        """Cuts a piece out, or goes round where the noise is too short."""
        samples = self.clip.samples
        if sample_rate_hz != self.clip.sample_rate_hz:
            samples = soxr.resample(samples, self.clip.sample_rate_hz, sample_rate_hz)
        last = len(samples) - length
        start = random.Random(f"{SEED}:{name}").randrange(last + 1 if last > 0 else len(samples))
        return np.take(samples, np.arange(start, start + length), mode="wrap")


def mean_power(samples: NDArray[np.float32]) -> float:
    """Mean square."""
    return float(np.mean(np.square(samples, dtype=np.float64)))


def active_power(speech: Clip) -> float:
    """Mean power of the frames of 20 ms in which somebody speaks, told by their level alone."""
    powers = _frame_powers(speech, ACTIVE_FRAME_SECONDS)
    return float(powers[powers >= powers.max() * 10 ** (-ACTIVE_BELOW_LOUDEST_DB / 10)].mean())


def loudest_power(clip: Clip) -> float:
    """Power of the loudest frame of 0.128 s."""
    return float(_frame_powers(clip, LOUDEST_FRAME_SECONDS).max())


def _frame_powers(clip: Clip, frame_seconds: float) -> NDArray[np.float64]:
    """Mean power of each whole frame; of all samples where there are fewer than a frame has."""
    length = min(round(frame_seconds * clip.sample_rate_hz), len(clip.samples))
    whole = clip.samples[: len(clip.samples) // length * length].reshape(-1, length)
    return np.asarray(np.mean(np.square(whole, dtype=np.float64), axis=1))
