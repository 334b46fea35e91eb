"""Halves of a set of recordings: one to train and tune on, the other one to report.

Which half a recording belongs to hangs on its name alone, so that it is the same whatever else is in the folder.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import soxr

from modelkit.errors import DataError
from modelkit.evaluation.recordings import AUDIO_SUFFIXES, read_clip
from modelkit.turn.pauses import SAMPLE_RATE, Recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

TUNING, REPORTING = "tuning", "reporting"


def half(name: str) -> str:
    """Returns the half that a recording belongs to."""
    return (TUNING, REPORTING)[name_number(name) % 2]


def name_number(name: str) -> int:
    """Returns a number for a name, to draw from it what belongs to it alone."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def recordings(data: Path, wanted: str) -> Iterator[Recording]:
    """Yields the recordings of one half of a folder in which somebody speaks, by name.

    Raises:
        DataError: it holds none.
    """
    folder = data / "audio" if (data / "audio").is_dir() else data
    paths = (
        sorted(path for path in folder.iterdir() if path.suffix.lower() in AUDIO_SUFFIXES) if folder.is_dir() else []
    )
    if not paths:
        raise DataError(f"{folder} holds no recordings ({', '.join(sorted(AUDIO_SUFFIXES))}): check its name")
    for path in paths:
        if half(path.name) == wanted:
            recording = Recording.of(path.name, read_samples(path))
            if len(recording.spoken):
                yield recording


def read_samples(path: Path) -> npt.NDArray[np.float32]:
    """Reads a recording as one channel at 16 kHz."""
    clip = read_clip(path)
    samples: npt.NDArray[np.float32] = soxr.resample(clip.samples, clip.sample_rate_hz, SAMPLE_RATE).astype(np.float32)
    return samples
