"""Health checking and reflection answer what they cannot read as every other method does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from service.grpc_server.first_messages import FirstMessages
from service.grpc_server.message_gate import MessageGate
from service.grpc_server.probe import serves
from tests.unit.service.refusals import assert_refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from grpc.aio import Channel

NAMES = ("grpc.health.v1.Health", reflection.SERVICE_NAME)
GARBAGE = b"\xff\xff\xff"


@pytest.fixture
async def channel() -> AsyncIterator[Channel]:
    server = grpc.aio.server(interceptors=[MessageGate(FirstMessages())])
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    reflection.enable_server_reflection(NAMES, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(grace=None)


async def send_garbage(channel: Channel, method: str) -> None:
    match method:
        case "/grpc.health.v1.Health/Check":
            await channel.unary_unary(method)(GARBAGE)
        case "/grpc.health.v1.Health/Watch":
            async for _ in channel.unary_stream(method)(GARBAGE):
                pass
        case _:
            async for _ in channel.stream_stream(method)(iter([GARBAGE])):
                pass


@pytest.mark.parametrize(
    "method",
    [
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ],
)
async def test_a_request_that_cannot_be_read_is_refused_and_logged_without_what_it_holds(
    channel: Channel, caplog: pytest.LogCaptureFixture, method: str
):
    with caplog.at_level(logging.DEBUG), pytest.raises(grpc.aio.AioRpcError) as refused:
        await send_garbage(channel, method)
    assert_refused(refused.value, "MALFORMED_REQUEST", "request")
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == ["a caller was refused: INVALID_ARGUMENT, MALFORMED_REQUEST"]


async def test_health_is_told_and_watched(channel: Channel):
    stub = health_pb2_grpc.HealthStub(channel)
    serving = health_pb2.HealthCheckResponse.SERVING
    assert (await stub.Check(health_pb2.HealthCheckRequest())).status == serving
    call = stub.Watch(health_pb2.HealthCheckRequest())
    assert (await call.read()).status == serving
    call.cancel()
    with contextlib.suppress(grpc.aio.AioRpcError):
        await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))
        pytest.fail("a service that there is not has no health")


async def test_services_are_listed(channel: Channel):
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    listed = [one.name async for response in call for one in response.list_services_response.service]
    assert listed == list(NAMES)


@pytest.mark.parametrize(("status", "expected"), [("SERVING", [True, True]), ("NOT_SERVING", [False, True])])
async def test_the_probe_tells_who_serves_and_who_is_alive(status: str, expected: list[bool]):
    servicer = health.aio.HealthServicer()
    await servicer.set("", health_pb2.HealthCheckResponse.ServingStatus.Value(status))
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    assert [await asyncio.to_thread(serves, address, alive=alive) for alive in (False, True)] == expected
    await server.stop(grace=None)
    assert not await asyncio.to_thread(serves, address, alive=True)
