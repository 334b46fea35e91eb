"""What the front end has computed for the beginning of an utterance, kept until more of it arrives.

Two convolutions without padding (kernel 127, stride 64; kernel 7, stride 3) turn samples into features. A feature frame
depends on 511 samples alone, so it is computed once. Only the statistics of the normalization between
the two convolutions concern the whole utterance; they are kept as sums, and applied by the encoder
(see ``engines.build.moonshine_encoder``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHANNELS = 576
SAMPLES_PER_FRAME = 192
"""Samples from the beginning of a feature frame to the beginning of the next."""
MIN_SAMPLES = 511
"""Samples that the first feature frame needs."""
SAMPLES_PER_ENCODER_FRAME = 2 * SAMPLES_PER_FRAME
"""Samples from the beginning of what a frame of the encoder is made of to the next one's beginning."""
SAMPLES_SEEN_BY_ENCODER_FRAME = MIN_SAMPLES + 2 * SAMPLES_PER_FRAME
"""Samples that a frame of the encoder is made of before attention mixes them: three feature frames."""

_FIRST_KERNEL, _FIRST_STRIDE, _FIRST_CHANNELS = 127, 64, 288
_SECOND_KERNEL, _SECOND_STRIDE = 7, 3
_EPSILON = 1e-5
# Room is made for three seconds at a time: utterances are short, and many are open at once.
_GROWTH_FRAMES = 250


class FeatureCache:
    """Features of one utterance, float32 ``[576, frames]``, and the sums of what they were computed from."""

    def __init__(self) -> None:
        self.frames = 0
        self._features = np.empty((CHANNELS, 0), np.float32)
        self._sums = np.empty((2, 0))

    @property
    def next_sample(self) -> int:
        """The first sample of the utterance that the next call of the front end needs."""
        return self.frames * SAMPLES_PER_FRAME

    @property
    def features(self) -> NDArray[np.float32]:
        """All feature frames, float32 ``[576, frames]``; a view that is valid until the next ``extend``."""
        return self._features[:, : self.frames]

    def extend(
        self, samples: int, features: NDArray[np.float32], sums: NDArray[np.float32], square_sums: NDArray[np.float32]
    ) -> None:
        """Takes what the front end returned for the audio from ``next_sample`` on.

        Args:
            samples: How many of the samples that the front end was given are the utterance's; what was computed from
                others is ignored.
            features: float32 ``[576, new_frames]``.
            sums: float32 ``[first_frames]``; sum over the channels of the first convolution.
            square_sums: float32 ``[first_frames]``; sum of squares.
        """
        first = max(0, (samples - _FIRST_KERNEL) // _FIRST_STRIDE + 1)
        new = max(0, (first - _SECOND_KERNEL) // _SECOND_STRIDE + 1)
        # Frames of the first convolution that did not yet fill a frame of the second come again.
        kept = self._sums[:, : self.frames * _SECOND_STRIDE]
        self._sums = np.concatenate([kept, np.stack([sums[:first], square_sums[:first]])], axis=1)
        self._reserve(self.frames + new)
        self._features[:, self.frames : self.frames + new] = features[:, :new]
        self.frames += new

    def statistics(self) -> tuple[float, float]:
        """Returns mean and standard deviation of the first convolution over the whole utterance."""
        entries = self._sums.shape[1] * _FIRST_CHANNELS
        total, squares = self._sums.sum(axis=1) / entries
        return float(total), math.sqrt(max(0.0, squares - total**2) + _EPSILON)

    def _reserve(self, frames: int) -> None:
        if frames > self._features.shape[1]:
            room = frames - self._features.shape[1] + _GROWTH_FRAMES
            self._features = np.concatenate([self.features, np.empty((CHANNELS, room), np.float32)], axis=1)


def encoder_frames(frames: int) -> int:
    """Returns how many frames the encoder makes of so many feature frames (kernel 3, stride 2)."""
    return max(0, (frames - 3) // 2 + 1)


def feature_frames(samples: int) -> int:
    """Returns how many feature frames so many samples have."""
    first = max(0, (samples - _FIRST_KERNEL) // _FIRST_STRIDE + 1)
    return max(0, (first - _SECOND_KERNEL) // _SECOND_STRIDE + 1)
