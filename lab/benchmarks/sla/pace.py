"""Speaks at the pace of speech whatever the server does: an open loop, which does not slow down with the server."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import vivavoce
from benchmarks.sla.material import RATE_HZ

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import numpy as np
    import numpy.typing as npt

CHUNK = RATE_HZ // 10
"""Samples of a message: 100 ms."""
FORMAT = vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM, RATE_HZ)
"""How the audio of every load is sent."""


class Microphone:
    """Hands out a stream of audio chunk by chunk, and notes when which chunk was sent.

    Args:
        stream: int16 ``[samples]`` at 16 kHz.

    Attributes:
        late_seconds: the longest that sending lagged behind the pace of speech.
    """

    def __init__(self, stream: npt.NDArray[np.int16]) -> None:
        self._stream = stream
        self._sent: list[float] = []
        self._started = 0.0
        self.late_seconds = 0.0

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields every chunk when its last sample would have been recorded; the schedule is absolute."""
        self._started = time.monotonic()
        for first in range(0, len(self._stream), CHUNK):
            chunk = self._stream[first : first + CHUNK]
            due = self._started + (first + len(chunk)) / RATE_HZ
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            self.late_seconds = max(self.late_seconds, now - due)
            self._sent.append(now)
            yield chunk.tobytes()

    def moment_of(self, position_seconds: float) -> float:
        """Returns when a position of the stream was spoken, by the schedule."""
        return self._started + position_seconds

    def sent_at(self, position_seconds: float) -> float:
        """Returns when the chunk that holds a position of the stream was sent, or else the last one."""
        return self._sent[min(int(position_seconds * RATE_HZ) // CHUNK, len(self._sent) - 1)]
