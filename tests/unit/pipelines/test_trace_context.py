"""The trace on its way to Triton, as a gRPC server in Triton's place gets it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import grpc
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from pipelines.models.trace_context import current_traceparent, trace_headers, traced_by
from pipelines.models.triton.client import TritonClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Servicer(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Answers every request with nothing, and remembers its headers."""

    def __init__(self) -> None:
        self.traceparents: list[object] = []

    async def ModelInfer(  # noqa: N802 - named by the contract
        self, _: service_pb2.ModelInferRequest, context: grpc.aio.ServicerContext
    ) -> service_pb2.ModelInferResponse:
        self._remember(context)
        return service_pb2.ModelInferResponse()

    async def ModelStreamInfer(  # noqa: N802 - named by the contract
        self, requests: AsyncIterator[service_pb2.ModelInferRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[service_pb2.ModelStreamInferResponse]:
        self._remember(context)
        async for _ in requests:
            yield service_pb2.ModelStreamInferResponse()

    def _remember(self, context: grpc.aio.ServicerContext) -> None:
        self.traceparents.append(dict(context.invocation_metadata()).get("traceparent"))


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[Servicer, TritonClient]]:
    servicer, server = Servicer(), grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    client = TritonClient(f"127.0.0.1:{port}")
    try:
        yield servicer, client
    finally:
        await client.close()
        await server.stop(None)


@pytest.mark.parametrize("traceparent", [TRACEPARENT, None])
async def test_requests_carry_the_trace_that_they_are_made_for(traceparent: str | None):
    async with serving() as (servicer, client):
        with traced_by(traceparent):
            await client.infer("qa", [])
            async for _ in client.stream("tts", []):
                pass
    assert servicer.traceparents == [traceparent, traceparent]


def test_a_trace_is_left_with_its_work():
    with traced_by(TRACEPARENT):
        assert current_traceparent() == TRACEPARENT
        assert trace_headers() == {"traceparent": TRACEPARENT}
    assert current_traceparent() is None
    assert trace_headers() is None
