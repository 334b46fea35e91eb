"""Streaming removal of the silence around speech: to a listener it is latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.tts.waveform import HOP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

_SILENCE_RMS = 10 ** (-56 / 20)
"""Of 12.5 ms: the voice's own silence has -130 dB, the softest beginnings of words -50 dB."""
_KEPT_HOPS = 2
"""Kept of the silence on both sides, so that no sound begins with a click."""


def trimmed(blocks: Iterable[npt.NDArray[np.float32]]) -> Iterator[npt.NDArray[np.float32]]:
    """Yield blocks without leading and trailing silence, but for 25 ms.

    Args:
        blocks: samples, each block a whole number of hops.
    """
    begun = False
    held: list[npt.NDArray[np.float32]] = []
    for block in blocks:
        hops = block.reshape(-1, HOP)
        loud = np.flatnonzero(np.sqrt(np.mean(np.square(hops), axis=1)) > _SILENCE_RMS)
        if not len(loud):
            held = [*held, block] if begun else [np.concatenate([*held, block])[-_KEPT_HOPS * HOP :]]
            continue
        before, after = hops[: loud[-1] + 1], hops[loud[-1] + 1 :]
        if begun:
            lead = held
        else:
            silence = np.concatenate([*held, hops[: loud[0]].reshape(-1)])
            lead, before = [silence[-_KEPT_HOPS * HOP :]], before[loud[0] :]
        begun = True
        yield np.concatenate([*lead, before.reshape(-1)])
        held = [after.reshape(-1)]
    if begun:
        yield np.concatenate([np.zeros(0, np.float32), *held])[: _KEPT_HOPS * HOP]
