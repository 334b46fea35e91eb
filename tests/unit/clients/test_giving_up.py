"""When a connection that was lost is not made anew, and what ends the waiting for it; through a real socket."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import grpc
import pytest
from google.rpc import error_details_pb2

import vivavoce
from tests.unit.clients.fake_service import error_info, refusing, seconds
from tests.unit.clients.lost_servers import Speaker, collect, hearing, word
from vivavoce._timeout import timeout
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.clients.fake_service import Script
    from tests.unit.clients.lost_servers import Servers

pytestmark = pytest.mark.usefixtures("no_task_left")


async def _lose(servers: Servers, client: vivavoce.Client, reconnect_seconds: float, then: Script | None) -> None:
    """Speaks to a server that dies, and is replaced by another one where there is a script for it."""
    async with timeout(20):
        async for event in client.converse(Speaker(word(1)).speech(), reconnect_seconds=reconnect_seconds):
            if isinstance(event, vivavoce.SpeechBegan):
                await servers.stop()
                if then is not None:
                    servers.start(then)


def _connected(servers: Servers) -> vivavoce.Client:
    servers.start(hearing("first"))
    return vivavoce.connect(servers.address)


async def test_when_the_time_is_over_the_server_is_unavailable(servers: Servers) -> None:
    async with _connected(servers) as client:
        began = time.monotonic()
        with pytest.raises(vivavoce.ServerUnavailable, match="No server answers"):
            await _lose(servers, client, 1.0, None)

    assert 0.4 < time.monotonic() - began < 10


async def test_a_server_that_stays_full_is_unavailable(servers: Servers) -> None:
    details = error_info("TOO_MANY_CONVERSATIONS"), error_details_pb2.RetryInfo(retry_delay=seconds(2.5))
    full = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "The server is full.", *details)
    async with _connected(servers) as client:
        with pytest.raises(vivavoce.ServerUnavailable, match=r"made anew: The server is full\.") as caught:
            await _lose(servers, client, 1.0, full)

    assert caught.value.retry_after_seconds == 2.5
    assert isinstance(caught.value.__cause__, vivavoce.Overloaded)


async def test_a_server_that_takes_the_call_and_says_nothing_is_unavailable(servers: Servers) -> None:
    def mute(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from (pb.ConverseResponse() for _ in requests if False)

    async with _connected(servers) as client:
        with pytest.raises(vivavoce.ServerUnavailable, match="did not take the conversation up again"):
            await _lose(servers, client, 1.0, mute)


async def test_a_refusal_of_what_was_sent_is_final(servers: Servers) -> None:
    refusal = refusing(grpc.StatusCode.INVALID_ARGUMENT, "Send something else.", error_info("EMPTY_AUDIO"))
    async with _connected(servers) as client:
        with pytest.raises(vivavoce.InvalidRequest, match="something else"):
            await _lose(servers, client, 10.0, refusal)


async def test_without_being_asked_to_nothing_is_made_anew(servers: Servers) -> None:
    calls: list[str] = []

    def second(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        calls.append("again")
        yield from hearing("second")(requests, context)

    async with _connected(servers) as client:
        with pytest.raises(vivavoce.VivavoceError) as caught:
            await _lose(servers, client, 0.0, second)

    assert caught.value.retryable
    assert not calls


async def test_a_server_that_never_was_there_is_told_at_once(servers: Servers) -> None:
    servers.start(hearing("nobody"))
    await servers.stop()
    async with vivavoce.connect(servers.address) as client:
        began = time.monotonic()
        with pytest.raises(vivavoce.ServerUnavailable, match="No server answers"):
            await collect(client.converse([word(1)], reconnect_seconds=30))

    assert time.monotonic() - began < 10


async def test_closing_ends_the_waiting_for_a_server(servers: Servers) -> None:
    async with _connected(servers) as client:
        conversation = client.converse(Speaker(word(1)).speech(), reconnect_seconds=30)
        began = asyncio.Event()

        async def hold() -> None:
            async for event in conversation:
                if isinstance(event, vivavoce.SpeechBegan):
                    await servers.stop()
                    began.set()

        holding = asyncio.create_task(hold())
        async with timeout(10):
            await began.wait()
            await asyncio.sleep(0.5)
            assert not holding.done()
            await conversation.aclose()
            await holding

    assert conversation.closed


async def test_cancelling_ends_the_waiting_for_a_server(servers: Servers) -> None:
    async with _connected(servers) as client:
        losing = asyncio.create_task(_lose(servers, client, 30.0, None))
        await asyncio.sleep(1)
        losing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await losing


@pytest.mark.parametrize("error", [ZeroDivisionError("fell down"), TimeoutError("fell down")])
async def test_an_error_of_the_callers_audio_ends_the_waiting_for_a_server(servers: Servers, error: Exception) -> None:
    servers.start(hearing("first"))
    speaker = Speaker(word(1))
    async with vivavoce.connect(servers.address) as client, timeout(10):
        with pytest.raises(type(error), match="fell down"):
            async for event in client.converse(speaker.speech(), reconnect_seconds=30):
                if isinstance(event, vivavoce.SpeechBegan):
                    await servers.stop()
                    asyncio.get_running_loop().call_later(0.4, speaker.say, error)


async def test_a_container_cannot_be_said_again(servers: Servers) -> None:
    async with _connected(servers) as client:
        flac = vivavoce.AudioFormat(vivavoce.Encoding.FLAC)
        with pytest.raises(vivavoce.InvalidRequest, match="send LINEAR_PCM"):
            client.converse([], audio=flac, reconnect_seconds=10)
        assert not client.converse([], audio=flac).closed
