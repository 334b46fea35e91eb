"""Calls of Asterisk's AudioSocket on a real socket, with fake models behind an agent."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from typing import TYPE_CHECKING

import numpy as np
import pytest

from service.addresses import ListenError
from service.config import ServiceConfig
from service.lines import Lines
from service.telephone import audiosocket
from service.telephone.audiosocket_frames import AUDIO, ERROR, HANG_UP, KEY, NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.service.telephone.exchange import Exchange

FRAME = np.zeros(160, "<i2").tobytes()
CALL = uuid.UUID(int=7)


class Telephone:
    """Asterisk's side of a call: sends a frame every 20 ms, and keeps what it gets."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.audio_frames = 0
        self.hung_up = asyncio.Event()
        self._tasks = [asyncio.create_task(self._listen())]

    async def _listen(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                header = await self._reader.readexactly(3)
                await self._reader.readexactly(int.from_bytes(header[1:], "big"))
                self.audio_frames += header[0] == AUDIO
                if header[0] == HANG_UP:
                    break
        self.hung_up.set()

    def send(self, kind: int, payload: bytes = b"") -> None:
        self._writer.write(bytes((kind,)) + len(payload).to_bytes(2, "big") + payload)

    async def talk(self, seconds: float) -> None:
        for _ in range(round(seconds * 50)):
            self.send(AUDIO, FRAME)
            await asyncio.sleep(0.02)

    async def until(self, what: object) -> None:
        async with asyncio.timeout(10):
            while not what():
                await self.talk(0.1)

    async def close(self) -> None:
        self._writer.close()
        for task in self._tasks:
            await asyncio.wait_for(task, 10)


@contextlib.asynccontextmanager
async def ringing(exchange: Exchange, name: bytes = CALL.bytes) -> AsyncIterator[Telephone]:
    reader, writer = await asyncio.open_connection("127.0.0.1", exchange.server.port)
    telephone = Telephone(reader, writer)
    telephone.send(NAME, name)
    try:
        yield telephone
    finally:
        await telephone.close()


async def say(exchange: Exchange, telephone: Telephone, words: str) -> None:
    exchange.models.words = words
    exchange.voice.probability = 1.0
    await telephone.talk(0.8)
    exchange.voice.probability = 0.0


async def test_an_agent_answers_a_call_and_ends_it(exchange: Exchange):
    async with ringing(exchange) as telephone:
        await telephone.until(lambda: telephone.audio_frames >= 12)
        assert exchange.models.spoken_texts == ["Hello."]
        await say(exchange, telephone, "a latte please")
        await telephone.until(lambda: "Which size?" in exchange.models.spoken_texts and telephone.audio_frames >= 24)
        telephone.send(KEY, b"1")
        await telephone.until(lambda: "one small latte?" in exchange.models.spoken_texts)
        await say(exchange, telephone, "goodbye")
        await telephone.until(telephone.hung_up.is_set)
    assert not exchange.host.open_conversations.count


async def test_the_caller_hangs_up(exchange: Exchange):
    async with ringing(exchange) as telephone:
        await telephone.until(lambda: telephone.audio_frames)
        assert exchange.host.open_conversations.count == 1
        telephone.send(HANG_UP)
        await asyncio.wait_for(telephone.hung_up.wait(), 10)


async def test_a_session_goes_on_in_the_next_call_of_its_name(exchange: Exchange):
    async with ringing(exchange) as telephone:
        await telephone.until(lambda: telephone.audio_frames)
        await say(exchange, telephone, "a latte please")
        await telephone.until(lambda: "Which size?" in exchange.models.spoken_texts)
    async with asyncio.timeout(10):
        while exchange.host.open_conversations.count:
            await asyncio.sleep(0.05)
    async with ringing(exchange) as telephone:
        telephone.send(KEY, b"1")
        await telephone.until(lambda: "one small latte?" in exchange.models.spoken_texts)


@pytest.mark.parametrize(
    "frames",
    [
        [(AUDIO, FRAME)],
        [(NAME, b"short")],
        [(NAME, CALL.bytes), (0x42, b"")],
        [(NAME, CALL.bytes), (KEY, b"Z"), (KEY, b""), (HANG_UP, b"")],
        [(NAME, CALL.bytes), (ERROR, b"\x01")],
        [(NAME, CALL.bytes), (AUDIO, b"\x01"), (HANG_UP, b"")],
    ],
)
async def test_frames_that_are_none_end_a_call_and_no_other(exchange: Exchange, frames: list[tuple[int, bytes]]):
    async with ringing(exchange, uuid.UUID(int=8).bytes) as other:
        await other.until(lambda: other.audio_frames)
        reader, writer = await asyncio.open_connection("127.0.0.1", exchange.server.port)
        broken = Telephone(reader, writer)
        for kind, payload in frames:
            broken.send(kind, payload)
        await asyncio.wait_for(broken.hung_up.wait(), 10)
        await broken.close()
        assert exchange.host.open_conversations.count == 1


async def test_bytes_at_random_end_no_other_call(exchange: Exchange, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audiosocket, "NAME_SECONDS", 0.05)
    chance = random.Random(1)
    async with ringing(exchange, uuid.UUID(int=8).bytes) as other:
        await other.until(lambda: other.audio_frames)
        for _ in range(100):
            _, writer = await asyncio.open_connection("127.0.0.1", exchange.server.port)
            writer.write(chance.randbytes(chance.randrange(200)))
            writer.close()
        await other.until(lambda: exchange.host.open_conversations.count == 1)


async def test_who_finds_no_place_is_hung_up_on(exchange: Exchange):
    async with contextlib.AsyncExitStack() as stack:
        for number in range(4):
            telephone = await stack.enter_async_context(ringing(exchange, uuid.UUID(int=number + 10).bytes))
            await telephone.until(lambda telephone=telephone: telephone.audio_frames)
        refused = await stack.enter_async_context(ringing(exchange))
        await asyncio.wait_for(refused.hung_up.wait(), 10)
    assert exchange.observer.served == ["AUDIOSOCKET"] * 5
    assert exchange.observer.refused_because == ["TOO_MANY_CONVERSATIONS"]


async def test_a_stopping_service_ends_calls(exchange: Exchange):
    async with ringing(exchange) as telephone:
        await telephone.until(lambda: telephone.audio_frames)
        await exchange.server.leave()
        await exchange.server.close()
        await asyncio.wait_for(telephone.hung_up.wait(), 10)


@pytest.mark.parametrize(
    ("agent", "knowledge", "told"), [("cafe", "", "choose one of bar"), ("", "zoo", "--knowledge")]
)
async def test_calls_that_nobody_can_answer(exchange: Exchange, agent: str, knowledge: str, told: str):
    config = ServiceConfig(audiosocket_port=0, call_agent=agent, call_knowledge=knowledge)
    with pytest.raises(ListenError, match=told):
        Lines(exchange.host, config)
