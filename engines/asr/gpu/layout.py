"""Layout of a batch's recordings end to end, without padding.

The convolutions are not padded, and together move on by 384 samples a frame. Every recording begins at a multiple of
that: its frames are then those that it would have alone. Frames across two recordings are computed too, and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.gpu.names import CONVOLUTIONS
from engines.asr.moonshine.features import SAMPLES_PER_ENCODER_FRAME, encoder_frames, feature_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FIRST_FRAMES = 6
"""Frames of the first convolution for each of the encoder's …"""
_MORE_FIRST_FRAMES = 7
"""… and those that the last of the encoder's needs beyond."""
_MORE_SAMPLES = 511


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets of a run of so many frames.

    Attributes:
        samples: float32 ``[384 * frames + 511]``.
        rows: int64 ``[6 * frames + 7]``; the recording that each frame of the first convolution is of, the number of
            rows where it is of none.
        entries: int64 ``[rows + 1]``; how many frames of the first convolution each has, at least 1.
        sources: int64 ``[frames]``; which frame of the last convolution each packed one is.
        positions: int64 ``[frames]``; its place in its recording.
        offsets: int32 ``[rows + 1]``; where the packed frames of each begin.
    """

    samples: NDArray[np.float32]
    rows: NDArray[np.int64]
    entries: NDArray[np.int64]
    sources: NDArray[np.int64]
    positions: NDArray[np.int64]
    offsets: NDArray[np.int32]


def frames_of(samples: int) -> int:
    """Return how many frames the encoder has for so many samples, 0 for too few."""
    return encoder_frames(feature_frames(samples))


def room_of(samples: int) -> int:
    """Return how many frames of a run so many samples take."""
    return -(-samples // SAMPLES_PER_ENCODER_FRAME)


def sizes_of(frames: int) -> tuple[int, int]:
    """Return samples and frames of the first convolution, for so many frames."""
    return frames * SAMPLES_PER_ENCODER_FRAME + _MORE_SAMPLES, frames * FIRST_FRAMES + _MORE_FIRST_FRAMES


def lay_out(recordings: Sequence[NDArray[np.float32]], frames: int, rows: int) -> Layout:
    """Lay recordings out.

    Args:
        recordings: float32, each of at least 895 samples.
        frames: of the run; together the recordings take no more room.
        rows: of the run; there are no more recordings.
    """
    assert len(recordings) <= rows
    assert sum(room_of(len(samples)) for samples in recordings) <= frames
    samples_size, first_size = sizes_of(frames)
    samples = np.zeros(samples_size, np.float32)
    row_of = np.full(first_size, rows, np.int64)
    entries = np.ones(rows + 1, np.int64)
    sources, positions = np.zeros(frames, np.int64), np.zeros(frames, np.int64)
    offsets = np.zeros(rows + 1, np.int32)
    start = packed = 0
    kernel, stride = CONVOLUTIONS[0]
    for row, recording in enumerate(recordings):
        begin = start * SAMPLES_PER_ENCODER_FRAME
        samples[begin : begin + len(recording)] = recording
        first = (len(recording) - kernel) // stride + 1
        row_of[start * FIRST_FRAMES : start * FIRST_FRAMES + first] = row
        entries[row] = first
        own = np.arange(frames_of(len(recording)))
        sources[packed : packed + len(own)] = start + own
        positions[packed : packed + len(own)] = own
        packed += len(own)
        offsets[row + 1 :] = packed
        start += room_of(len(recording))
    return Layout(samples, row_of, entries, sources, positions, offsets)
