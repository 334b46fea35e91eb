"""A gRPC server that speaks as Triton does, as far as a client asks about it; its models compute nothing."""

from __future__ import annotations

import contextlib
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
        parameters: those of each request.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Mapping[str, object] | frozenset[str]] = {
            role: SHIPPED[role].tensors for role in SHIPPED.required
        }
        self.ready = set(self.tensors)
        self.parameters: list[dict[str, service_pb2.InferParameter]] = []
        self.name = "triton"

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
        self.parameters.append(dict(request.parameters))
        return service_pb2.ModelInferResponse(model_name=request.model_name)


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
