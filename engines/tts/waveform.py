"""Vocoder: spectra to samples, block by block.

The network predicts, for each 12.5 ms frame of 601 frequencies, the magnitude and phase of the voiced part as a filter
on a pulse train at the predicted pitch, the magnitude of the noise, and the magnitude and phase of what is neither. The
sum is one short-time Fourier transform, whose inverse is the speech. Blocks overlap by three hops, so the samples are
the same whatever the size of the blocks.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

SAMPLE_RATE = 24_000
HOP = 300
"""Samples from one frame to the next: 12.5 ms."""
WINDOW_SAMPLES = 4 * HOP

FIRST_BLOCKS_FRAMES = (24, 24, 40)
"""Frames of the first blocks: what is heard first is computed first, after 0.3 s of silence."""
BLOCK_FRAMES = 80
"""Frames of every later block: 1 s."""

_OVERLAP_HOPS = WINDOW_SAMPLES // HOP - 1
_LEAD_HOPS = 2
"""Hops before the middle of the first frame, which are no part of the speech."""
_MAX_LOG_MAGNITUDE = np.float32(7.0)
_VOICED_HZ = np.float32(40.0)
"""A lower pitch says that a frame has no voice."""
_HIGHEST_HARMONIC_HZ = 11_000.0
_NEAR_PULSE = 2e-3

_WINDOW = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW_SAMPLES) / WINDOW_SAMPLES)).astype(np.float32)
_PULSE_WINDOW = (_WINDOW / HOP).astype(np.float32)
_SQUARED_WINDOW = (_WINDOW * _WINDOW).reshape(-1, HOP)


@dataclass(frozen=True, slots=True)
class Spectra:
    """Predicted spectra of one run of speech, float32 ``[601, frames]`` each.

    Attributes:
        voiced_log_magnitude: of the filter on the pulses.
        voiced_phase: likewise; its hyperbolic tangent times pi is the angle.
        noise_log_magnitude: of the noise.
        free_log_magnitude: of what is neither.
        free_phase: likewise, radians.
        pitch_hz: ``[frames]``; below 40 where there is no voice.
    """

    voiced_log_magnitude: Floats
    voiced_phase: Floats
    noise_log_magnitude: Floats
    free_log_magnitude: Floats
    free_phase: Floats
    pitch_hz: Floats

    @property
    def frames(self) -> int:
        """Number of frames."""
        return int(self.pitch_hz.shape[0])


def render(spectra: Spectra, noise: np.random.Generator) -> Iterator[Floats]:
    """Yield the speech in blocks of samples at 24 kHz, 300 a frame in all.

    Args:
        spectra: what is spoken.
        noise: drawn from frame by frame, so that one seed always gives the same samples.
    """
    frames = spectra.frames
    pulses = _Pulses(spectra.pitch_hz)
    overlap = np.zeros((_OVERLAP_HOPS, HOP), np.float32)
    weights = np.zeros((_OVERLAP_HOPS, HOP), np.float32)
    skipped = 0
    for begin, end in _blocks(frames):
        segments = _segments(spectra, pulses, noise, begin, end)
        hops, sums = _overlap_add(segments, overlap, weights)
        done = end - begin
        overlap, weights = hops[done:], sums[done:]
        skip = min(done, _LEAD_HOPS - skipped)
        skipped += skip
        yield _normalized(hops[skip:done], sums[skip:done])
    rest = _LEAD_HOPS - skipped
    yield _normalized(overlap[rest:_LEAD_HOPS], weights[rest:_LEAD_HOPS])


def _blocks(frames: int) -> Iterator[tuple[int, int]]:
    sizes = itertools.chain(FIRST_BLOCKS_FRAMES, itertools.repeat(BLOCK_FRAMES))
    begin = 0
    while begin < frames:
        end = min(begin + next(sizes), frames)
        yield begin, end
        begin = end


def _segments(spectra: Spectra, pulses: _Pulses, noise: np.random.Generator, begin: int, end: int) -> Floats:
    """Compute windowed samples of frames ``begin`` to ``end``, ``[frames, 1200]``."""
    span = slice(begin, end)
    spectrum = np.fft.rfft(pulses.frames(begin, end) * _PULSE_WINDOW, axis=1).astype(np.complex64)
    angle = np.tanh(spectra.voiced_phase[:, span].T) * np.float32(np.pi)
    spectrum *= _polar(spectra.voiced_log_magnitude[:, span].T, angle)
    shape = (*spectrum.shape[:1], 2 * spectrum.shape[1])
    drawn = noise.standard_normal(shape, dtype=np.float32).view(np.complex64)
    spectrum += drawn * _magnitude(spectra.noise_log_magnitude[:, span].T)
    spectrum += _polar(spectra.free_log_magnitude[:, span].T, spectra.free_phase[:, span].T)
    segments: Floats = np.fft.irfft(spectrum, WINDOW_SAMPLES, axis=1).astype(np.float32) * _WINDOW
    return segments


def _overlap_add(segments: Floats, overlap: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Overlap-add windowed frames; return hops and sums of squared windows."""
    count = len(segments)
    hops = np.zeros((count + _OVERLAP_HOPS, HOP), np.float32)
    sums = np.zeros_like(hops)
    hops[:_OVERLAP_HOPS], sums[:_OVERLAP_HOPS] = overlap, weights
    parts = segments.reshape(count, -1, HOP)
    for part in range(parts.shape[1]):
        hops[part : part + count] += parts[:, part]
        sums[part : part + count] += _SQUARED_WINDOW[part]
    return hops, sums


def _normalized(hops: Floats, sums: Floats) -> Floats:
    samples: Floats = (hops / np.maximum(sums, np.float32(1e-11))).reshape(-1)
    return samples


def _magnitude(logarithm: Floats) -> Floats:
    magnitude: Floats = np.exp(np.minimum(logarithm, _MAX_LOG_MAGNITUDE))
    return magnitude


def _polar(log_magnitude: Floats, angle: Floats) -> npt.NDArray[np.complex64]:
    value = np.empty(angle.shape, np.complex64)
    np.cos(angle, out=value.real)
    np.sin(angle, out=value.imag)
    value *= _magnitude(log_magnitude)
    return value


class _Pulses:
    """Harmonics of a pitch up to 11 kHz, amplitude 1; silent when unvoiced.

    The sum has a closed form, the Dirichlet kernel: sin((n + 1/2) t) / (2 sin(t/2)) - 1/2. It is computed as far as it
    is asked for, and mirrored at both ends.
    """

    def __init__(self, pitch_hz: Floats) -> None:
        self._pitch_hz = pitch_hz
        self._margin = WINDOW_SAMPLES // 2
        self._samples = np.zeros(len(pitch_hz) * HOP + 2 * self._margin, np.float32)
        self._done_frames = 0
        self._phase = 0.0

    def frames(self, begin: int, end: int) -> Floats:
        """Return the pulses under frames ``begin`` to ``end``, ``[frames, 1200]``."""
        total = len(self._pitch_hz)
        while self._done_frames < min(end + _LEAD_HOPS, total):
            self._compute(min(max(end + _LEAD_HOPS, _OVERLAP_HOPS), total))
        windows = np.lib.stride_tricks.sliding_window_view(self._samples, WINDOW_SAMPLES)
        under: Floats = windows[begin * HOP : end * HOP : HOP]
        return under

    def _compute(self, end: int) -> None:
        begin, margin, total = self._done_frames, self._margin, len(self._pitch_hz)
        block = self._block(begin, end)
        self._samples[margin + begin * HOP : margin + end * HOP] = block
        speech = self._samples[margin : margin + total * HOP]
        if begin == 0:
            self._samples[:margin] = np.pad(speech[: margin + 1], (margin, 0), mode="reflect")[:margin]
        if end == total:
            self._samples[margin + total * HOP :] = np.pad(speech[-margin - 1 :], (0, margin), mode="reflect")[-margin:]
        self._done_frames = end

    def _block(self, begin: int, end: int) -> Floats:
        # Pitch is given at the middle of a frame, and changes linearly from one middle to the next.
        position = (np.arange(begin * HOP, end * HOP) + 0.5) / HOP - 0.5
        first = max(0, begin - 1)
        known = self._pitch_hz[first : end + 1]
        pitch = np.interp(position, np.arange(first, first + len(known)), known)
        voiced = pitch > _VOICED_HZ
        pitch = np.maximum(pitch, _VOICED_HZ)
        turns = self._phase + np.cumsum(pitch / SAMPLE_RATE)
        self._phase = float(turns[-1] % 1.0)
        half_phase = np.pi * (turns % 1.0)
        order = np.floor(_HIGHEST_HARMONIC_HZ / pitch) + 0.5
        divisor = 2 * np.sin(half_phase)
        near = np.abs(divisor) <= _NEAR_PULSE
        sums = np.where(near, order, np.sin(2 * order * half_phase) / np.where(near, 1.0, divisor))
        return np.where(voiced, sums - 0.5, 0.0).astype(np.float32)
