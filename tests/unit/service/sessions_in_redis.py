"""What the tests of sessions in Redis share."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import TYPE_CHECKING

from redis.asyncio import Redis

from pipelines.data.understanding import Understanding
from pipelines.text.values import find_values
from service.sessions.redis_sessions import RedisSessions
from tests.unit.pipelines.dialog.agents import NOW, agent_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.dialog.session import DialogSession
    from service.sessions.session_cipher import SessionCipher
    from tests.redis_server import RedisServer

AGENT = agent_of()
ORDER = Understanding("order", 0.9)
BOOK = Understanding("book", 0.9)


class Machine:
    """A machine with a clock of its own."""

    def __init__(self, began: float) -> None:
        self._began, self.now = began, 0.0

    def monotonic(self) -> float:
        return self._began + self.now

    def wall(self) -> float:
        return 1_800_000_000.0 + self.now


@contextlib.asynccontextmanager
async def replica(
    server: RedisServer,
    cipher: SessionCipher | None = None,
    idle_seconds: float = 60.0,
    lease_seconds: float = 10.0,
    machine: Machine | None = None,
) -> AsyncIterator[RedisSessions]:
    clocks = {"clock": machine.monotonic, "wall_clock": machine.wall} if machine else {}
    sessions = RedisSessions(server.url, cipher, idle_seconds, lease_seconds, **clocks)
    try:
        yield sessions
    finally:
        await sessions.close()


def say(session: DialogSession, text: str, understanding: Understanding | None = None) -> str:
    understanding = dataclasses.replace(understanding or Understanding(), values=find_values(text, NOW))
    return session.commit(session.preview(text, understanding)).text


async def stored(server: RedisServer) -> dict[bytes, bytes]:
    """Returns all that stands in Redis."""
    async with Redis.from_url(server.url) as client:
        found = {}
        for key in await client.keys("*"):
            whole = await client.hgetall(key) if await client.type(key) == b"hash" else {b"": await client.get(key)}
            found[key] = b"".join(whole.values())
        return found


async def until_stored(server: RedisServer) -> None:
    async with asyncio.timeout(10):
        while len(await stored(server)) < 2:
            await asyncio.sleep(0.02)
