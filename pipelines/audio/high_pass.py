"""High-pass filter against the DC offset of cheap microphones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

BLOCK_SAMPLES: Final = 512
"""Samples of a block, 32 ms. Filtering whole blocks alone makes the result the same however the audio was cut."""

_SHARE: Final = 0.05
"""What each block contributes to the offset, once there were enough: noise and speech hardly move it."""

_QUICK_SHARE: Final = 0.3
_JUMP: Final = 0.005
"""An offset that departs so far from a quicker average has jumped: it is gone after a quarter of a second."""

_STEP: Final = 1e-4
"""Three steps of 16 bits: what is subtracted follows the offset in such steps. Most audio has none, and is left as it
is, which saves the time that filtering takes."""

_RAMP: Final = np.linspace(0, 1, BLOCK_SAMPLES, endpoint=False, dtype=np.float32)
_AVERAGING: Final = np.full(BLOCK_SAMPLES, 1 / BLOCK_SAMPLES, np.float32)


class HighPass:
    """High-pass of one channel at 16 kHz with a corner at a quarter of a hertz.

    The offset is a running average over the means of blocks, and later an exponential one. What is subtracted from a
    block runs in a straight line from what it was to what it should be by the blocks before, so that nothing jumps.
    That takes a tenth of the time of a recursive filter, and an offset lies far below the speech that has to pass. The
    first block is its own offset: the beginning of a stream makes no click.
    """

    def __init__(self) -> None:
        # How many the average is of, as far as it matters.
        self._blocks = 0
        self._offset = self._quick = 0.0
        # What is subtracted from the next block: where the line begins, and where it ends.
        self._start = self._stop = 0.0

    def filter(self, blocks: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Filter whole blocks, float32 ``[blocks, 512]``; a no-op without offset."""
        lines = []
        for block in blocks:
            # A product takes less time than a reduction, and each block is rounded in the same way, with others or not.
            mean = float(block.dot(_AVERAGING))
            if not self._blocks:
                self._begin(mean)
            lines.append((self._start, self._stop - self._start))
            self._follow(mean)
        if not any(start or rise for start, rise in lines):
            return blocks
        ends = np.array(lines, np.float32)
        low = _RAMP * ends[:, 1:]
        low += ends[:, :1]
        return np.subtract(blocks, low, out=low)

    def peek(self, begun: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Filter the beginning of the next block, which comes again as a whole.

        Args:
            begun: fewer samples than a block has; may be empty.
        """
        if not len(begun):
            return begun
        start, stop = (self._start, self._stop) if self._blocks else (float(begun.mean()),) * 2
        low = _RAMP[: len(begun)] * np.float32(stop - start)
        low += np.float32(start)
        return np.subtract(begun, low, out=low)

    def _begin(self, mean: float) -> None:
        self._offset = self._quick = mean
        self._start = self._stop = mean if abs(mean) > _STEP else 0.0

    def _follow(self, mean: float) -> None:
        """Take in a block's mean; the subtraction glides to the new offset."""
        self._blocks += 1
        self._offset += max(_SHARE, 1 / self._blocks) * (mean - self._offset)
        self._quick += _QUICK_SHARE * (mean - self._quick)
        if abs(self._quick - self._offset) > _JUMP:
            self._offset, self._blocks = self._quick, round(1 / _QUICK_SHARE)
        self._start = self._stop
        if abs(self._offset - self._stop) > _STEP:
            self._stop = self._offset if abs(self._offset) > _STEP else 0.0
