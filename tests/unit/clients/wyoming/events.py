"""What tests say to a Wyoming server, and hear of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from wyoming.asr import Transcribe
from wyoming.audio import AudioChunk, AudioStart, AudioStop

if TYPE_CHECKING:
    from wyoming.client import AsyncClient
    from wyoming.event import Event, Eventable

_E = TypeVar("_E", bound="Eventable")

HALF_A_SECOND = np.zeros(8_000, "<i2").tobytes()


def chunk(audio: bytes = HALF_A_SECOND, *, rate: int = 16_000, width: int = 2, channels: int = 1) -> AudioChunk:
    return AudioChunk(rate=rate, width=width, channels=channels, audio=audio)


async def say(home: AsyncClient, *events: Eventable) -> None:
    for event in events:
        await home.write_event(event.event())


async def speak(home: AsyncClient, *chunks: AudioChunk, request: Transcribe | None = None) -> None:
    """Says a whole stream of audio, of one chunk if none is given."""
    chunks = chunks or (chunk(),)
    first = chunks[0]
    start = AudioStart(rate=first.rate, width=first.width, channels=first.channels)
    await say(home, request or Transcribe(), start, *chunks, AudioStop())


async def hear(home: AsyncClient, kind: type[_E]) -> _E:
    """Reads the next event, which must be of that kind."""
    event = await home.read_event()
    assert event is not None, f"the server hung up instead of sending a {kind.__name__}"
    assert kind.is_type(event.type), f"{event.type} came instead of a {kind.__name__}: {event.data}"
    return kind.from_event(event)


async def hear_all(home: AsyncClient, last: type[Eventable]) -> list[str]:
    """Reads events up to one of the last kind; returns all their types."""
    types = []
    while not types or not last.is_type(types[-1]):
        event = await home.read_event()
        assert event is not None, f"the server hung up after {types}"
        types.append(event.type)
    return types


async def hear_rest(home: AsyncClient) -> list[Event]:
    """Reads up to where the server hangs up."""
    events = []
    while (event := await home.read_event()) is not None:
        events.append(event)
    return events
