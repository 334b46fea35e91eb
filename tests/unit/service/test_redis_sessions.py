"""Sessions that two replicas share in a real Redis."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis

from pipelines.errors import ErrorKind, InvalidInputError
from service.refusals import SessionsUnavailableError
from service.sessions.session_cipher import SessionsError
from tests.redis_server import PASSWORD, RedisServer, redis_server
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.service.sessions_in_redis import AGENT, ORDER, Machine, replica, say, stored, until_stored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from service.sessions.redis_sessions import RedisSessions


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


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


class TestGoingOn:
    async def test_on_another_replica(self, server, sessions):
        async with sessions.open(AGENT, "a", {"house": "Ada's"}) as session:
            assert session.greeting == "Hello."
            assert say(session, "a latte", ORDER) == "Which size?"
            name = session.id
        async with replica(server) as other, other.open(AGENT, "a", {"house": "Bob's", "x": "y"}) as session:
            assert session.greeting == ""
            assert say(session, "small") == "1 small latte?"
            assert session.state.parameters == {"house": "Bob's"}, "the agent declares no other"
            assert session.id == name, "fulfilments keep their numbers"

    async def test_after_a_replica_has_died(self, server):
        async with replica(server, lease_seconds=0.6) as other:
            async with contextlib.AsyncExitStack() as dying:
                first = await dying.enter_async_context(replica(server, lease_seconds=0.6))
                opened = first.open(AGENT, "a")
                session = await opened.__aenter__()
                say(session, "a latte", ORDER)
                await asyncio.sleep(0.2)
                for task in asyncio.all_tasks():
                    if task.get_name() == "session saver":
                        task.cancel()
                        await asyncio.wait((task,))
                opened.gen = None  # nothing of it runs any more
            async with other.open(AGENT, "a") as session:
                assert say(session, "small") == "1 small latte?", "what was committed is there without the stream's end"

    async def test_ids_belong_to_owner_and_agent(self, sessions):
        async with sessions.open(AGENT, "a", owner="x") as session:
            say(session, "a latte", ORDER)
        async with sessions.open(AGENT, "a", owner="y") as session:
            assert session.state.form is None
        async with sessions.open(AGENT, "a", owner="x") as session:
            assert session.state.form is not None

    async def test_without_an_id_nothing_is_stored(self, server, sessions):
        async with sessions.open(AGENT) as session:
            say(session, "a latte", ORDER)
        assert await stored(server) == {}

    async def test_ended_sessions_and_changed_agents_begin_anew(self, sessions):
        async with sessions.open(AGENT, "a") as session:
            assert say(session, "goodbye") == "Goodbye."
        async with sessions.open(AGENT, "a") as session:
            assert session.greeting == "Hello."
            say(session, "a latte", ORDER)
        async with sessions.open(agent_of(), "a") as session:
            assert session.state.form is not None, "the same files, read again"
        async with sessions.open(agent_of(BAR | {"begin": "Hi."}), "a") as session:
            assert session.greeting == "Hi."

    async def test_what_cannot_be_read_begins_anew(self, server, sessions):
        async with sessions.open(AGENT, "a") as session:
            say(session, "a latte", ORDER)
        (key,) = await stored(server)
        async with Redis.from_url(server.url) as client:
            await client.hset(key, "data", b"\xff broken")
        async with sessions.open(AGENT, "a") as session:
            assert session.greeting == "Hello."
            say(session, "a latte", ORDER)
        async with sessions.open(AGENT, "a") as session:
            assert session.state.form is not None

    async def test_times_are_those_of_each_machine(self, server):
        first, second = Machine(5.0), Machine(90_000.0)
        async with replica(server, machine=first) as one, one.open(AGENT, "a") as session:
            for text in ("a small latte", "yes"):
                say(session, text, ORDER)
            assert session.state.contexts[0].until == pytest.approx(65.0)
        second.now = 30.0
        async with replica(server, machine=second) as two, two.open(AGENT, "a") as session:
            assert session.state.contexts[0].until == pytest.approx(90_060.0)

    async def test_sessions_expire(self, server):
        async with replica(server, idle_seconds=0.5, lease_seconds=0.3) as one:
            async with one.open(AGENT, "a") as session:
                say(session, "a latte", ORDER)
                await asyncio.sleep(0.8)
            async with one.open(AGENT, "a") as session:
                assert session.state.form is not None, "an open stream counts as use"
            await asyncio.sleep(0.8)
            assert await stored(server) == {}


class TestOneStream:
    async def test_two_replicas(self, server, sessions):
        async with sessions.open(AGENT, "a") as session, replica(server) as other:
            say(session, "a latte", ORDER)
            with pytest.raises(InvalidInputError, match="another stream") as caught:
                async with other.open(AGENT, "a"):
                    pass
            assert caught.value.reason == "SESSION_IN_USE"
            assert say(session, "small") == "1 small latte?"
        async with replica(server) as other, other.open(AGENT, "a") as session:
            assert session.state.form.confirming

    async def test_many_at_once(self, server, sessions):
        opened = 0

        async def one() -> None:
            nonlocal opened
            with contextlib.suppress(InvalidInputError):
                async with sessions.open(AGENT, "a"):
                    opened += 1
                    await asyncio.sleep(1.5)

        await asyncio.gather(*(one() for _ in range(20)))
        assert opened == 1

    async def test_one_that_ends_is_waited_for(self, server, sessions):
        async def end_soon() -> None:
            async with sessions.open(AGENT, "a") as session:
                say(session, "a latte", ORDER)
                await asyncio.sleep(0.4)

        task = asyncio.create_task(end_soon())
        await asyncio.sleep(0.1)
        async with replica(server) as other, other.open(AGENT, "a") as session:
            assert session.state.form is not None
        await task

    async def test_a_lease_is_renewed(self, server):
        async with replica(server, lease_seconds=0.5) as one, one.open(AGENT, "a"), replica(server) as other:
            await asyncio.sleep(0.8)
            with pytest.raises(InvalidInputError, match="another stream"):
                async with other.open(AGENT, "a"):
                    pass

    async def test_a_stream_that_lost_its_session_does_not_write_over_it(self, server, caplog):
        async with replica(server) as one, replica(server) as other:
            async with one.open(AGENT, "a") as lost:
                await until_stored(server)
                async with Redis.from_url(server.url) as client:
                    await client.delete(*[key for key in await client.keys("*") if key.endswith(b":lock")])
                async with other.open(AGENT, "a") as session:
                    say(session, "a latte", ORDER)
                say(lost, "goodbye")
            async with other.open(AGENT, "a") as session:
                assert session.state.form is not None
        assert "another stream has gone on with a session" in caplog.text


class TestServer:
    async def test_it_goes_and_comes_back_in_mid_conversation(self, server, sessions, caplog):
        async with sessions.open(AGENT, "a") as session:
            await until_stored(server)
            server.stop()
            assert say(session, "a latte", ORDER) == "Which size?"
            await until(lambda: "cannot be stored" in caplog.text)
            began = time.monotonic()
            with pytest.raises(SessionsUnavailableError, match="try again in 2 s, or leave") as caught:
                async with sessions.open(AGENT, "b"):
                    pass
            assert caught.value.kind is ErrorKind.UNAVAILABLE
            assert time.monotonic() - began < 3.5
            async with sessions.open(AGENT) as other:
                assert other.greeting == "Hello.", "what is not kept needs no Redis"
            server.start()
            assert say(session, "small") == "1 small latte?"
            await until(lambda: "is stored again" in caplog.text)
        async with sessions.open(AGENT, "a") as session:
            assert session.state.form.confirming
        assert PASSWORD not in caplog.text
        assert "latte" not in caplog.text

    async def test_a_stream_ends_without_it(self, server, sessions, caplog):
        async with sessions.open(AGENT, "a") as session:
            say(session, "a latte", ORDER)
            server.stop()
            began = time.monotonic()
        assert time.monotonic() - began < 5
        assert "could not be stored at the end" in caplog.text
        server.start()

    async def test_it_is_silent(self, server, sessions):
        async with sessions.open(AGENT, "a") as session:
            await until_stored(server)
            with server.silent():
                began = time.monotonic()
                assert say(session, "a latte", ORDER) == "Which size?"
                assert time.monotonic() - began < 0.5, "replies do not wait"
                with pytest.raises(SessionsUnavailableError):
                    async with sessions.open(AGENT, "b"):
                        pass
                assert time.monotonic() - began < 5
        async with sessions.open(AGENT, "a") as session:
            assert session.state.form is not None

    async def test_a_wrong_password_is_told_without_it(self, server):
        wrong = RedisServer(server.socket.parent)
        wrong.url = server.url.replace(PASSWORD, "Wrong-Pass")
        async with replica(wrong) as one:
            with pytest.raises(SessionsError, match="refuses the user or the password: check both") as caught:
                await one.check()
        assert "Pass" not in str(caught.value)

    @pytest.mark.parametrize("url", ["redis://:Secret-Pass@host:port/0", "redis://:Secret/Pass@host", "redis://[::1"])
    async def test_urls_that_cannot_be_read(self, server, url):
        wrong = RedisServer(server.socket.parent)
        wrong.url = url
        with pytest.raises(SessionsError, match="cannot be read: write redis://") as caught:
            async with replica(wrong):
                pass
        assert "Secret" not in str(caught.value)

    async def test_one_that_is_not_there_is_logged(self, server, caplog):
        missing = RedisServer(server.socket.parent / "none")
        async with replica(missing) as one:
            await one.check()
        assert "does not answer" in caplog.text
        assert PASSWORD not in caplog.text
