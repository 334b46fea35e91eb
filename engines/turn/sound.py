"""Sound network: Smart Turn v3.2 (Daily, BSD-2), Whisper tiny's encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.session import ONNX_RUNTIME, load_session
from engines.turn.log_mel import HOP, SAMPLE_RATE, log_mel

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator

    Floats = npt.NDArray[np.float32]

FRAME_SAMPLES = 2 * HOP
"""Samples of a frame of the network: 20 ms."""
_LEVEL_SAMPLES = SAMPLE_RATE // 100
_LOOKED_AT_SECONDS = 4.0
_RISE = 0.4
"""Speech rises above the quietest sound by this share of the way to the loudest, in decibels."""
_MIN_RANGE_DB = 12.0
_QUIET_PERCENTILE, _LOUD_PERCENTILE = 5, 95


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """Result of the network for the sound before a pause.

    Attributes:
        logit: its own judgement, positive where the turn is over.
        frames: float32 ``[frames, width]``, 20 ms each, the last the newest.
        summary: float32 ``[width]``, their mean with the weights that the network gives them.
    """

    logit: float
    frames: Floats
    summary: Floats


class SoundNetwork:
    """Smart Turn's network, one pause at a time: batches are no faster on a CPU.

    Args:
        path: a graph that ``engines.build.smart_turn`` builds.
        threads: cores that one run may use.
        accelerator: what computes.
    """

    def __init__(self, path: Path, threads: int = 1, accelerator: Accelerator = ONNX_RUNTIME) -> None:
        self._session = load_session(path, threads, arena=True, accelerator=accelerator)
        self._width = int(self._session.get_inputs()[0].shape[2])

    def hear(self, samples: Floats) -> Heard:
        """Run over sound, float32 ``[samples]`` at 16 kHz, of which the last 8 s count."""
        features = np.ascontiguousarray(log_mel(samples)[np.newaxis, :, -self._width :])
        logit, frames, summary = self._session.run(["logit", "frames", "summary"], {"input_features": features})
        return Heard(float(logit[0, 0]), frames[0], summary[0])


def silence_seconds(samples: Floats) -> float:
    """Estimate the silence at the end of 16 kHz sound, in seconds."""
    recent = samples[-round(_LOOKED_AT_SECONDS * SAMPLE_RATE) :]
    count = len(recent) // _LEVEL_SAMPLES
    if not count:
        return 0.0
    pieces = recent[len(recent) - count * _LEVEL_SAMPLES :].reshape(count, _LEVEL_SAMPLES)
    levels = 10 * np.log10(np.maximum(np.mean(np.square(pieces), axis=1), 1e-10))
    quiet, loud = np.percentile(levels, (_QUIET_PERCENTILE, _LOUD_PERCENTILE))
    if loud - quiet < _MIN_RANGE_DB:
        return 0.0
    heard = np.flatnonzero(levels > quiet + _RISE * (loud - quiet))
    return float((count - 1 - heard[-1]) * _LEVEL_SAMPLES / SAMPLE_RATE)
