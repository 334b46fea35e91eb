"""Callers of a service that stops are asked to connect elsewhere, while their calls go on."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from service.grpc_server.doors import Doors
from service.grpc_server.probe import serves

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SERVICE = "test.Echo"


async def echo(requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> None:
    async for request in requests:
        await context.write(request)


async def opened(doors: Doors, servicer: health.aio.HealthServicer) -> None:
    method = grpc.stream_stream_rpc_method_handler(echo)
    handlers = {SERVICE: grpc.method_handlers_generic_handler(SERVICE, {"Say": method})}
    await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    await doors.open_to_callers(handlers, servicer)


async def until(condition: bool, address: str) -> None:
    async with asyncio.timeout(10):
        while await asyncio.to_thread(serves, address) is not condition:
            await asyncio.sleep(0.02)


async def test_streams_go_on_while_no_connection_is_taken_and_probes_of_the_machine_are_answered(tmp_path: Path):
    doors, servicer = Doors("127.0.0.1", 0), health.aio.HealthServicer()
    await opened(doors, servicer)
    await doors.open_to_admin({}, tmp_path / "admin.sock", servicer)
    async with grpc.aio.insecure_channel(doors.address) as channel:
        call = channel.stream_stream(f"/{SERVICE}/Say")()
        await call.write(b"before")
        assert await call.read() == b"before"
        await until(True, doors.address)
        await doors.leave(notice_seconds=0.2)
        assert await asyncio.to_thread(serves, doors.address), "the notice is for balancers to hear"
        await until(False, doors.address)
        await call.write(b"after")
        assert await call.read() == b"after"
        assert await asyncio.to_thread(serves, f"unix:{tmp_path}/admin.sock")
        # Where a balancer of connections leads, the same client finds another replica.
        with pytest.raises(grpc.aio.AioRpcError):
            await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        await call.done_writing()
        assert await call.read() is grpc.aio.EOF
        assert await call.code() is grpc.StatusCode.OK
    began = time.monotonic()
    await doors.close()
    assert time.monotonic() - began < 0.9


async def test_a_service_that_is_closed_leaves_nothing_behind_in_its_notice():
    doors = Doors("127.0.0.1", 0)
    await opened(doors, health.aio.HealthServicer())
    await doors.leave(notice_seconds=60)
    await doors.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "leaving"]


async def test_what_does_not_end_is_ended_when_the_service_is_closed():
    doors = Doors("127.0.0.1", 0)
    await opened(doors, health.aio.HealthServicer())
    async with grpc.aio.insecure_channel(doors.address) as channel:
        call = channel.stream_stream(f"/{SERVICE}/Say")()
        await call.write(b"before")
        assert await call.read() == b"before"
        await doors.leave(notice_seconds=0)
        await until(False, doors.address)
        async with asyncio.timeout(5):
            await doors.close()
            assert await call.code() is grpc.StatusCode.UNAVAILABLE
