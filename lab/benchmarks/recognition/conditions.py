"""Conditions under which people are heard: noise, rooms, telephones. All are made from the clean recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import soxr

from benchmarks.sla.material import RATE_HZ

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

SEED = 11
_PHONE_HZ = 8_000
_PACKET = _PHONE_HZ // 50
_MU = 255
_DIRECT_SECONDS = 0.002
_QUIET_DB = 40.0


def noisy(speech: Samples, snr_db: float) -> Samples:
    """Adds pink noise, so many decibels below the mean power of the speech."""
    rng = np.random.default_rng(SEED)
    spectrum = np.fft.rfft(rng.standard_normal(len(speech)))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 1.0))
    noise = np.fft.irfft(spectrum, len(speech))
    gain = np.sqrt(np.mean(np.square(speech)) / np.mean(np.square(noise)) / 10 ** (snr_db / 10))
    return _within(speech + gain * noise)


def in_room(speech: Samples, decay_seconds: float) -> Samples:
    """Puts the speaker far away in a room whose sound decays by 60 dB in so many seconds.

    The impulse response is noise that decays, with a direct sound of as much energy as a fifth of it.
    """
    rng = np.random.default_rng(SEED)
    times = np.arange(round(decay_seconds * RATE_HZ)) / RATE_HZ
    response = rng.standard_normal(len(times)) * 10 ** (-3 * times / decay_seconds)
    response[: round(_DIRECT_SECONDS * RATE_HZ)] = 0
    response /= np.sqrt(np.sum(np.square(response)))
    response[0] = np.sqrt(0.2)
    size = len(speech) + len(response)
    heard = np.fft.irfft(np.fft.rfft(speech, size) * np.fft.rfft(response, size), size)[: len(speech)]
    loudness = np.sqrt(np.mean(np.square(speech)) / np.mean(np.square(heard)))
    return noisy(_within(heard * loudness), _QUIET_DB)


def telephoned(speech: Samples, loss: float) -> Samples:
    """Sends the speech over a telephone: 8 kHz, mu-law, and packets of 20 ms of which a share is lost."""
    narrow = np.clip(soxr.resample(speech, RATE_HZ, _PHONE_HZ), -1, 1)
    steps = np.round(np.sign(narrow) * np.log1p(_MU * np.abs(narrow)) / np.log1p(_MU) * 127) / 127
    decoded = np.sign(steps) * np.expm1(np.abs(steps) * np.log1p(_MU)) / _MU
    lost = np.random.default_rng(SEED).random(len(decoded) // _PACKET + 1) < loss
    decoded[np.repeat(lost, _PACKET)[: len(decoded)]] = 0
    return _within(soxr.resample(decoded, _PHONE_HZ, RATE_HZ))


CONDITIONS: dict[str, Callable[[Samples], Samples]] = {
    "clean": lambda speech: speech,
    "noise of 10 dB": lambda speech: noisy(speech, 10),
    "room of 0.4 s": lambda speech: in_room(speech, 0.4),
    "room of 0.8 s": lambda speech: in_room(speech, 0.8),
    "telephone, 3 % lost": lambda speech: telephoned(speech, 0.03),
}
"""Each condition by its name."""


def _within(samples: NDArray[np.floating]) -> Samples:
    """Makes the sum softer where it would be clipped."""
    softened: Samples = (samples / max(1.0, float(np.abs(samples).max()))).astype(np.float32)
    return softened
