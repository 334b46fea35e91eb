"""A gRPC server that speaks as Triton does, as far as a client asks about it; its models compute nothing."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from pipelines.models.shipped import SHIPPED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


class FakeTriton(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Holds the models of the contract, ready, until a test changes that.

    Attributes:
        tensors: names of the inputs of each model.
        ready: the models that are ready.
        ahead_seconds: how far its clock is ahead.
        deadlines_us: what requests said of their deadlines.
        late_readings: readings of the statistics after a request that do not count it yet.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Mapping[str, object] | frozenset[str]] = {
            role: SHIPPED[role].tensors for role in SHIPPED.required
        }
        self.ready = set(self.tensors)
        self.ahead_seconds = 0.0
        self.deadlines_us: list[int] = []
        self.name = "triton"
        self.late_readings = 0
        self._asked_ms = self._counted_ms = self._readings = 0

    async def ServerMetadata(self, *_: object) -> service_pb2.ServerMetadataResponse:  # noqa: N802
        return service_pb2.ServerMetadataResponse(name=self.name)

    async def ModelReady(self, request: service_pb2.ModelReadyRequest, _: object) -> service_pb2.ModelReadyResponse:  # noqa: N802
        return service_pb2.ModelReadyResponse(ready=request.name in self.ready)

    async def ModelMetadata(  # noqa: N802
        self, request: service_pb2.ModelMetadataRequest, _: object
    ) -> service_pb2.ModelMetadataResponse:
        response = service_pb2.ModelMetadataResponse(name=request.name)
        for name in sorted(self.tensors[request.name]):
            response.inputs.add(name=name)
        return response

    async def ModelInfer(self, request: service_pb2.ModelInferRequest, _: object) -> service_pb2.ModelInferResponse:  # noqa: N802
        self._asked_ms, self._readings = int(1e3 * (time.time() + self.ahead_seconds)), 0
        if "deadline_us" in request.parameters:
            self.deadlines_us.append(request.parameters["deadline_us"].int64_param)
        return service_pb2.ModelInferResponse(model_name=request.model_name)

    async def ModelStatistics(  # noqa: N802
        self, request: service_pb2.ModelStatisticsRequest, _: object
    ) -> service_pb2.ModelStatisticsResponse:
        response = service_pb2.ModelStatisticsResponse()
        self._readings += 1
        if self._readings > self.late_readings:
            self._counted_ms = self._asked_ms
        response.model_stats.add(name=request.name, last_inference=self._counted_ms)
        return response


@contextlib.asynccontextmanager
async def serving(triton: FakeTriton | None) -> AsyncIterator[str]:
    """Serves a fake on a port of the loopback while the body runs, or nothing at all; yields the address."""
    server = grpc.aio.server()
    if triton is not None:
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(triton, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
