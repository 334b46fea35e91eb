"""A caller: speaks at the pace of speech, and notes when speech comes."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

FRAME_SECONDS = 0.02
QUIET = 300
"""Samples of 16 bits below which audio is silence."""


class Caller:
    """One call; how a frame is sent is a door's affair.

    Args:
        rate_hz: samples a second.
        loss: share of frames that are lost, both ways where there are packets.
        jitter: most seconds by which a packet is late, both ways where there are packets.
        seed: of the losses.
    """

    def __init__(self, rate_hz: int, loss: float, jitter: float, seed: int) -> None:
        self.rate_hz, self.loss, self.jitter = rate_hz, loss, jitter
        self.chance = random.Random(seed)
        self.frame_samples = round(rate_hz * FRAME_SECONDS)
        self.heard_at = 0.0
        self._loop = asyncio.get_running_loop()

    def send(self, frame: npt.NDArray[np.int16]) -> None:
        """Send 20 ms of sound."""
        raise NotImplementedError

    async def close(self) -> None:
        """Hang up."""
        raise NotImplementedError

    def hear(self, samples: npt.NDArray[np.int16], late_seconds: float = 0.0) -> None:
        """Note when sound comes."""
        if np.abs(samples.astype(np.int32)).max(initial=0) > QUIET:
            self.heard_at = self._loop.time() + late_seconds

    async def say(self, sound: npt.NDArray[np.int16]) -> float:
        """Say something at the pace of speech; return when its last sound was sent."""
        due = self._loop.time()
        for start in range(0, len(sound), self.frame_samples):
            frame = np.zeros(self.frame_samples, "<i2")
            piece = sound[start : start + self.frame_samples]
            frame[: len(piece)] = piece
            self.send(frame)
            due += FRAME_SECONDS
            await asyncio.sleep(due - self._loop.time())
        return self._loop.time()

    async def hush(self, seconds: float, until_heard_since: float | None = None) -> None:
        """Be silent, at most until an answer has begun."""
        silence = np.zeros(self.frame_samples, "<i2")
        for _ in range(round(seconds / FRAME_SECONDS)):
            await self.say(silence)
            if until_heard_since is not None and self.heard_at > until_heard_since:
                return

    async def until_quiet(self) -> None:
        """Wait until nothing was heard for a second."""
        await self.hush(1.0)
        while self._loop.time() < self.heard_at + 1.0:
            await self.hush(0.2)
