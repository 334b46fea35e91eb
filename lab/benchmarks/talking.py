"""What callers say for a while: the demonstration's recordings one after the other, at the pace of speech."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np

import vivavoce
from demo.manifest import utterances

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from numpy.typing import NDArray

CHUNK_SECONDS = 0.1
PAUSE_SECONDS = 1.5
_RATE_HZ = 16_000


async def speech(number: int, seconds: float) -> AsyncIterator[NDArray[np.float32]]:
    """Yields chunks of float32 ``[samples]`` at 16 kHz, with pauses between the recordings.

    Args:
        number: which recording comes first.
        seconds: how long it lasts.
    """
    loop = asyncio.get_running_loop()
    began, sent = loop.time(), 0.0
    recordings = [utterance.path for utterance in utterances()]
    silence = np.zeros(round(_RATE_HZ * CHUNK_SECONDS), np.float32)
    while True:
        recording = vivavoce.read_audio(recordings[number % len(recordings)])
        assert recording.sample_rate_hz == _RATE_HZ
        chunks = [*recording.chunks(CHUNK_SECONDS), *[silence] * round(PAUSE_SECONDS / CHUNK_SECONDS)]
        for chunk in chunks:
            if sent >= seconds:
                return
            await asyncio.sleep(max(0.0, began + sent - loop.time()))
            sent += len(chunk) / _RATE_HZ
            yield chunk
        number += 7
