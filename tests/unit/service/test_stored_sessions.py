"""What stands in Redis of a session: sensitive values never in clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis

from service.sessions.session_cipher import SessionCipher
from tests.redis_server import RedisServer, redis_server
from tests.unit.service.sessions_in_redis import AGENT, BOOK, ORDER, replica, say, stored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from service.sessions.redis_sessions import RedisSessions

KEYS = [bytes([number]) * 32 for number in range(2)]


@pytest.fixture(scope="module")
def started() -> Iterator[RedisServer]:
    with redis_server() as running:
        yield running


@pytest.fixture
async def server(started: RedisServer) -> RedisServer:
    async with Redis.from_url(started.url) as client:
        await client.flushall()
    return started


@pytest.fixture
async def sessions(server: RedisServer) -> AsyncIterator[RedisSessions]:
    async with replica(server) as one:
        yield one


async def test_sensitive_slots_are_left_out_without_a_key(server, sessions):
    async with sessions.open(AGENT, "tel:555-1234", owner="Ada") as session:
        say(session, "book", BOOK)
        for text in ("tomorrow", "at noon", "Countess Lovelace"):
            said = say(session, text)
        assert "Countess Lovelace" in said
    content = b"".join(key + value for key, value in (await stored(server)).items())
    for hidden in (b"Lovelace", b"555-1234", b"Ada"):
        assert hidden not in content
    assert b"12:00" in content
    async with sessions.open(AGENT, "tel:555-1234", owner="Ada") as session:
        assert session.state.form.asked == "name"
        assert say(session, "yes") == "Sorry? Which name?", "it is asked for again"
        assert "Lovelace" in say(session, "Countess Lovelace")


async def test_everything_is_encrypted_with_a_key(server):
    async with replica(server, SessionCipher(KEYS[0])) as one:
        async with one.open(AGENT, "a") as session:
            say(session, "book", BOOK)
            for text in ("tomorrow", "at noon", "Countess Lovelace"):
                say(session, text)
        content = b"".join((await stored(server)).values())
        for hidden in (b"Lovelace", b"12:00", b"book"):
            assert hidden not in content
        async with one.open(AGENT, "a") as session:
            assert session.state.form.slots["name"].value == "Countess Lovelace"
    async with replica(server, SessionCipher(KEYS[1], KEYS[0])) as changed, changed.open(AGENT, "a") as session:
        assert session.state.form.confirming
    async with replica(server, SessionCipher(KEYS[1])) as changed, changed.open(AGENT, "a") as session:
        assert session.state.form.confirming, "it was stored with the new key"
    async with replica(server, SessionCipher(KEYS[0])) as old, old.open(AGENT, "a") as session:
        assert session.greeting == "Hello."


async def test_what_is_not_encrypted_is_not_taken_where_there_is_a_key(server, sessions):
    async with sessions.open(AGENT, "a") as session:
        say(session, "a latte", ORDER)
    async with replica(server, SessionCipher(KEYS[0])) as one, one.open(AGENT, "a") as session:
        assert session.greeting == "Hello."
