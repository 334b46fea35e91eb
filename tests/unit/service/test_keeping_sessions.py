"""Where a service keeps sessions: what its configuration makes, and what callers are told."""

from __future__ import annotations

import base64
import contextlib
from typing import TYPE_CHECKING

import grpc
import pytest

from pipelines.dialog.sessions import DialogSessions
from service.config import ServiceConfig
from service.sessions.dialogs import Dialogs
from service.sessions.redis_sessions import RedisSessions
from service.sessions.session_cipher import VARIABLE, SessionsError, read_cipher
from service.sessions.session_store import sessions_of
from tests.redis_server import RedisServer, redis_server
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import details_of
from tests.unit.service.sessions_in_redis import AGENT
from tests.unit.service.test_dialogs import COFFEE_BAR, OrderingModels, held

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = base64.b64encode(bytes(32)).decode()


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as running:
        yield running


async def test_two_services_share_a_session(server: RedisServer):
    async with contextlib.AsyncExitStack() as running:
        harnesses = []
        for _ in range(2):
            config = ServiceConfig(agents=(COFFEE_BAR,), sessions=server.url)
            make = await sessions_of(config, running, {VARIABLE: KEY})
            assert make is not None
            dialogs = Dialogs({"bar": AGENT}, make({}))
            models = OrderingModels(0.001, 0.001, 0.001)
            harnesses.append(await running.enter_async_context(Harness.running(models=models, dialogs=dialogs)))
        first, second = harnesses
        await held(first, "a latte please", session="kiosk 7")
        greeting, (reply,) = await held(second, "small", session="kiosk 7")
        assert (greeting, reply.speech_text) == ("", "1 small latte?")
        _, (reply,) = await held(first, "yes", session="kiosk 7")
        assert [one.number for one in reply.dialog.fulfilments] == [1]


async def test_callers_are_told_that_sessions_cannot_be_opened(server: RedisServer):
    missing = RedisSessions(server.url.replace("redis.sock", "none.sock"))
    dialogs = Dialogs({"bar": AGENT}, missing)
    async with Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as harness:
        with pytest.raises(grpc.RpcError) as caught:
            await held(harness, session="kiosk 7")
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert details_of(caught.value)["ErrorInfo"].reason == "SESSIONS_UNAVAILABLE"
        assert "try again in 2 s, or leave config.session.id out" in str(caught.value.details())
        assert (await held(harness, "a latte please"))[1], "a dialog that is not kept goes on"
        await harness.until(lambda: not harness.admission.is_busy())
    await missing.close()


async def test_sessions_are_kept_in_memory_without_a_url_or_agents():
    async with contextlib.AsyncExitStack() as cleanup:
        assert await sessions_of(ServiceConfig(agents=(COFFEE_BAR,)), cleanup, {}) is None
        assert await sessions_of(ServiceConfig(sessions="redis://nowhere"), cleanup, {}) is None
    await DialogSessions().close()


@pytest.mark.parametrize(
    ("text", "message"),
    [("secret!", "is not base64: make one with `openssl rand -base64 32`"), ("c2VjcmV0", "has 6 bytes, not 32: make")],
)
async def test_keys_that_will_not_do(text: str, message: str, server: RedisServer):
    config = ServiceConfig(agents=(COFFEE_BAR,), sessions=server.url)
    async with contextlib.AsyncExitStack() as cleanup:
        with pytest.raises(SessionsError, match=message) as caught:
            await sessions_of(config, cleanup, {VARIABLE: text})
    assert text not in str(caught.value)


def test_ciphers():
    assert read_cipher({VARIABLE: ""}) is None
    other = base64.b64encode(b"x" * 32).decode()
    old, new, both = (read_cipher({VARIABLE: text}) for text in (KEY, other, f"{other}, {KEY}"))
    assert old is not None
    assert new is not None
    assert both is not None
    data = old.encrypt(b"state", b"place")
    assert old.encrypt(b"state", b"place") != data
    assert (old.decrypt(data, b"place"), both.decrypt(data, b"place")) == (b"state", b"state")
    for cipher, changed, place in ((new, data, b"place"), (old, data, b"elsewhere"), (old, data[:-1], b"place")):
        assert cipher.decrypt(changed, place) is None
    assert old.decrypt(b"", b"place") is None
