"""A caller who is busy while responses come; through a real socket."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import grpc
import pytest

import vivavoce
from tests.unit.clients.fake_service import FakeService, one_turn, refuse
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.usefixtures("no_task_left")

SECOND_OF_AUDIO = bytes(32_000)


async def _collect_slowly(client: vivavoce.Client, events: list[vivavoce.Event], busy_seconds: float) -> None:
    async for event in client.converse([SECOND_OF_AUDIO]):
        events.append(event)
        if isinstance(event, vivavoce.Transcript) and event.is_final:
            await asyncio.sleep(busy_seconds)


async def test_what_the_caller_does_with_earlier_events_does_not_count_as_a_replys_time(
    client: vivavoce.Client,
) -> None:
    events: list[vivavoce.Event] = []
    await _collect_slowly(client, events, busy_seconds=1.0)

    reply = events[-1]
    assert isinstance(reply, vivavoce.Reply)
    assert reply.client_latency_seconds is not None
    assert reply.client_latency_seconds < 0.8


async def test_what_has_come_before_an_error_is_not_lost(service: FakeService, client: vivavoce.Client) -> None:
    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from one_turn(requests, context)
        time.sleep(0.1)  # What is sent together with an error goes the way of the error.
        refuse(context, grpc.StatusCode.UNAVAILABLE, "The server shuts down.")

    service.script = script
    events: list[vivavoce.Event] = []
    with pytest.raises(vivavoce.ServerUnavailable, match="was lost"):
        await _collect_slowly(client, events, busy_seconds=0.3)

    assert isinstance(events[-1], vivavoce.Reply)


@pytest.mark.parametrize(
    ("code", "kind"), [(None, vivavoce.ServerUnavailable), (grpc.StatusCode.PERMISSION_DENIED, vivavoce.AccessDenied)]
)
async def test_what_the_server_said_is_not_lost_when_writes_fail_after_its_end(
    service: FakeService, client: vivavoce.Client, code: grpc.StatusCode | None, kind: type[vivavoce.VivavoceError]
) -> None:
    """gRPC's own error of a failed write would take the place of both: https://github.com/grpc/grpc/issues/36066."""

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        next(requests)
        for number in range(100):  # More than is read ahead: the end is not reached before the caller goes on.
            yield pb.ConverseResponse(transcript=pb.Transcript(turn=1, text=str(number)))
        if code is not None:
            refuse(context, code, "No.")

    async def speech() -> AsyncIterator[bytes]:
        while True:
            yield bytes(3_200)
            await asyncio.sleep(0.01)

    service.script = script
    events: list[vivavoce.Event] = []
    with pytest.raises(kind):
        async for event in client.converse(speech(), interim_results=True):
            if not events:
                await asyncio.to_thread(service.ended.wait, 5)
                await asyncio.sleep(0.2)  # Meanwhile a write fails.
            events.append(event)

    assert [event.text for event in events if isinstance(event, vivavoce.Transcript)] == [str(n) for n in range(100)]


async def test_who_does_not_take_events_makes_the_server_wait(service: FakeService, client: vivavoce.Client) -> None:
    told = 0

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        nonlocal told
        next(requests)
        for _ in range(20_000):
            told += 1
            yield pb.ConverseResponse(transcript=pb.Transcript(turn=1, text="x" * 10_000))

    service.script = script
    events = client.converse([SECOND_OF_AUDIO]).__aiter__()
    await anext(events)
    await anext(events)
    while True:  # Until nothing moves any more.
        before = told
        await asyncio.sleep(0.2)
        if told == before:
            break
    assert told < 20_000
    await events.aclose()
