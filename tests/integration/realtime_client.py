"""Conversations over ``/v1/realtime`` as OpenAI's own client holds them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
import soxr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openai.resources.realtime.realtime import AsyncRealtimeConnection

RATE_HZ = 24_000
CHUNK_BYTES = RATE_HZ // 10 * 2


def pcm_of(recording: Path, silence_seconds: float = 1.5) -> bytes:
    """A recording, and silence behind it, as the protocol has it."""
    samples, rate = soundfile.read(recording, dtype="float32")
    resampled = soxr.resample(samples, rate, RATE_HZ)
    whole = (np.clip(resampled, -1, 1) * 32767).astype("<i2").tobytes()
    return whole + bytes(2 * round(RATE_HZ * silence_seconds))


async def speak(connection: AsyncRealtimeConnection, audio: bytes, *, times: float | None = 1.0) -> None:
    """Speaks so many times as fast as people do; None: at once."""
    due = time.monotonic()
    for start in range(0, len(audio), CHUNK_BYTES):
        piece = audio[start : start + CHUNK_BYTES]
        await connection.input_audio_buffer.append(audio=base64.b64encode(piece).decode())
        due += 0.1 / times if times else 0.0
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def exchange(
    connection: AsyncRealtimeConnection, audio: bytes, is_last: Callable[[Any], bool], *, times: float | None = 1.0
) -> list[Any]:
    """Speaks, and returns all events up to the last one."""
    speaking = asyncio.create_task(speak(connection, audio, times=times))
    events = []
    try:
        async with asyncio.timeout(60):
            async for event in connection:
                assert event.type != "error", event
                events.append(event)
                if is_last(event):
                    return events
    finally:
        speaking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await speaking
    raise AssertionError(f"the session ended early: {[event.type for event in events]}")


def is_done(event: Any) -> bool:
    return event.type == "response.done"


def is_transcribed(event: Any) -> bool:
    return event.type == "conversation.item.input_audio_transcription.completed"
