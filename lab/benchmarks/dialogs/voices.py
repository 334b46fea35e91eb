"""What is said in dialogs: texts in the service's own voice, each in another manner, and recordings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import soxr

import vivavoce
from benchmarks.dialogs.partner import RATE_HZ

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MANNERS = ((1.0, 1.0), (1.15, 1.0), (0.9, 0.95), (1.0, 0.85), (1.05, 1.1))
"""Speeds of the voice, and pitches."""
PEAK = 0.5


class Voice:
    """Speaks texts, and keeps what was spoken.

    Args:
        client: of a service that speaks.
    """

    def __init__(self, client: vivavoce.Client) -> None:
        self._client = client
        self._spoken: dict[tuple[str, int], NDArray[np.float32]] = {}
        self._lock = asyncio.Lock()

    async def speak(self, text: str, manner: int = 0) -> NDArray[np.float32]:
        """Returns a text as samples, float32 ``[samples]`` at 16 kHz.

        Args:
            text: what is said.
            manner: another number is another speed and pitch.
        """
        speed, pitch = MANNERS[manner % len(MANNERS)]
        key = (text, manner % len(MANNERS))
        async with self._lock:
            if key not in self._spoken:
                samples = await self._synthesized(text, speed / pitch)
                if pitch != 1.0:
                    samples = np.asarray(soxr.resample(samples, RATE_HZ * pitch, RATE_HZ), np.float32)
                # Of "hm" the voice says nothing: then nothing is heard.
                peak = float(np.abs(samples).max(initial=1e-6))
                self._spoken[key] = samples / peak * PEAK if len(samples) else np.zeros(RATE_HZ // 10, np.float32)
        return self._spoken[key]

    async def _synthesized(self, text: str, speed: float) -> NDArray[np.float32]:
        """Has a text spoken, again and again where the service has no room for it."""
        audio = vivavoce.AudioFormat(sample_rate_hz=RATE_HZ)
        while True:
            try:
                pieces = [chunk.audio async for chunk in self._client.say(text, audio=audio, speed=speed)]
            except vivavoce.Overloaded as error:
                await asyncio.sleep(error.retry_after_seconds or 1.0)
            else:
                return np.frombuffer(b"".join(pieces), "<i2").astype(np.float32) / 32_768


def recorded(path: Path) -> NDArray[np.float32]:
    """Reads a recording as float32 ``[samples]`` at 16 kHz."""
    recording = vivavoce.read_audio(path)
    samples = np.concatenate(list(recording.chunks())).astype(np.float32)
    return np.asarray(soxr.resample(samples, recording.sample_rate_hz, RATE_HZ), np.float32)
