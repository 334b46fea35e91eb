"""High-pass filter: removes the DC offset that cheap microphones add, window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

BLOCK_SAMPLES: Final = 512
"""Samples of a block, 32 ms. Filtering whole blocks alone makes the result the same however the audio was cut."""

_SHARE: Final = 0.3
"""What each block contributes to the offset: a step of it is gone after a quarter of a second."""

_NEGLIGIBLE: Final = 1e-4
"""An offset of three steps of 16 bits: audio with less is left as it is, which saves the time that filtering takes."""

_RAMP: Final = np.linspace(0, 1, BLOCK_SAMPLES, endpoint=False, dtype=np.float32)


_NOTHING: Final = (0.0, 0.0)


class HighPass:
    """High-pass of one channel at 16 kHz with a corner at 2 Hz.

    The offset is an exponential average over the means of blocks. What is subtracted from a block runs in a straight
    line from the offset before the last block to that behind it, so that nothing jumps. That takes a tenth of the time
    of a recursive filter, and an offset lies far below the speech that has to pass. The first block is its own offset:
    the beginning of a stream makes no click.
    """

    def __init__(self) -> None:
        self._offsets: tuple[float, float] | None = None

    def filter(self, blocks: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Filters the next whole blocks, float32 ``[blocks, 512]``; without an offset they are returned as they are."""
        sums = np.add.reduce(blocks, axis=1).tolist()
        before, offset = self._offsets or (sums[0] / BLOCK_SAMPLES,) * 2
        lines = []
        for total in sums:
            lines.append(_line(before, offset))
            before, offset = offset, offset + _SHARE * (total / BLOCK_SAMPLES - offset)
        self._offsets = before, offset
        if not any(line is not _NOTHING for line in lines):
            return blocks
        ends = np.array(lines, np.float32)
        low = _RAMP * ends[:, 1:]
        low += ends[:, :1]
        return np.subtract(blocks, low, out=low)

    def peek(self, begun: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Filters the beginning of the next block, float32 ``[samples]``, which :meth:`filter` gets as a whole later.

        Args:
            begun: fewer samples than a block has; may be empty.
        """
        if not len(begun):
            return begun
        start, rise = _line(*(self._offsets or (float(begun.mean()),) * 2))
        low = _RAMP[: len(begun)] * np.float32(rise)
        low += np.float32(start)
        return np.subtract(begun, low, out=low)


def _line(before: float, offset: float) -> tuple[float, float]:
    """Returns what is subtracted from a block: the beginning of a straight line, and how far it rises."""
    if abs(before) < _NEGLIGIBLE and abs(offset) < _NEGLIGIBLE:
        return _NOTHING
    return before, offset - before
