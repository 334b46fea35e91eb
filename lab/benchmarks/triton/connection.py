"""A connection to Triton over gRPC or HTTP, with the same types for both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import tritonclient.grpc
import tritonclient.grpc.aio as triton_grpc
from google.protobuf.json_format import ParseDict
from tritonclient.grpc import service_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritonclient.grpc import model_config_pb2

    from benchmarks.triton.requests import Step

TIMEOUT_SECONDS = 60.0


class Connection(Protocol):
    """Connection to a Triton, as far as measuring needs one.

    Attributes:
        regions: the client itself, for registering shared memory.
    """

    regions: Any

    async def config(self, model: str) -> model_config_pb2.ModelConfig:
        """Return a model's configuration."""

    async def statistics(self, model: str) -> service_pb2.ModelStatisticsResponse:
        """Return a model's counters, over all of its versions."""

    def tensor(self, name: str, shape: Sequence[int], datatype: str) -> Any:  # noqa: ANN401 - untyped library
        """Return an input without values."""

    def output(self, name: str) -> Any:  # noqa: ANN401 - untyped library
        """Return a wanted output."""

    async def infer(self, model: str, inputs: Sequence[Any], outputs: Sequence[Any] | None, step: Step) -> Any:  # noqa: ANN401
        """Run one request."""

    def shapes(self, result: Any) -> dict[str, tuple[str, list[int]]]:  # noqa: ANN401
        """Return datatype and shape of each output of a result, by its name."""

    async def close(self) -> None:
        """Close the connection."""


class GrpcConnection:
    """Triton's gRPC endpoint: `host:port` or `unix:path`."""

    def __init__(self, address: str) -> None:
        self.regions = triton_grpc.InferenceServerClient(address)

    async def config(self, model: str) -> model_config_pb2.ModelConfig:
        """See `Connection`."""
        return (await self.regions.get_model_config(model)).config

    async def statistics(self, model: str) -> service_pb2.ModelStatisticsResponse:
        """See `Connection`."""
        return await self.regions.get_inference_statistics(model)

    def tensor(self, name: str, shape: Sequence[int], datatype: str) -> tritonclient.grpc.InferInput:
        """See `Connection`."""
        return tritonclient.grpc.InferInput(name, list(shape), datatype)

    def output(self, name: str) -> tritonclient.grpc.InferRequestedOutput:
        """See `Connection`."""
        return tritonclient.grpc.InferRequestedOutput(name)

    async def infer(self, model: str, inputs: Sequence[Any], outputs: Sequence[Any] | None, step: Step) -> Any:  # noqa: ANN401
        """See `Connection`."""
        return await self.regions.infer(model, inputs, outputs=outputs, client_timeout=TIMEOUT_SECONDS, **_place(step))

    def shapes(self, result: Any) -> dict[str, tuple[str, list[int]]]:  # noqa: ANN401
        """See `Connection`."""
        return {each.name: (each.datatype, list(each.shape)) for each in result.get_response().outputs}

    async def close(self) -> None:
        """See `Connection`."""
        await self.regions.close()


class HttpConnection:
    """Triton's HTTP endpoint: `host:port`."""

    def __init__(self, address: str) -> None:
        import tritonclient.http  # noqa: PLC0415 - over gRPC nobody needs it
        import tritonclient.http.aio  # noqa: PLC0415

        self._http = tritonclient.http
        # As many connections as there are callers; the pool would have them wait.
        self.regions = tritonclient.http.aio.InferenceServerClient(address, conn_limit=0)

    async def config(self, model: str) -> model_config_pb2.ModelConfig:
        """See `Connection`."""
        told = {"config": await self.regions.get_model_config(model)}
        return ParseDict(told, service_pb2.ModelConfigResponse(), ignore_unknown_fields=True).config

    async def statistics(self, model: str) -> service_pb2.ModelStatisticsResponse:
        """See `Connection`."""
        told = await self.regions.get_inference_statistics(model)
        return ParseDict(told, service_pb2.ModelStatisticsResponse(), ignore_unknown_fields=True)

    def tensor(self, name: str, shape: Sequence[int], datatype: str) -> Any:  # noqa: ANN401
        """See `Connection`."""
        return self._http.InferInput(name, list(shape), datatype)

    def output(self, name: str) -> Any:  # noqa: ANN401
        """See `Connection`."""
        return self._http.InferRequestedOutput(name)

    async def infer(self, model: str, inputs: Sequence[Any], outputs: Sequence[Any] | None, step: Step) -> Any:  # noqa: ANN401
        """See `Connection`."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self.regions.infer(model, inputs, outputs=outputs, **_place(step))

    def shapes(self, result: Any) -> dict[str, tuple[str, list[int]]]:  # noqa: ANN401
        """See `Connection`."""
        return {each["name"]: (each["datatype"], each["shape"]) for each in result.get_response()["outputs"]}

    async def close(self) -> None:
        """See `Connection`."""
        await self.regions.close()


def connect(address: str, protocol: str) -> Connection:
    """Open a connection without waiting; `protocol` is `grpc` or `http`."""
    return HttpConnection(address) if protocol == "http" else GrpcConnection(address)


def _place(step: Step) -> dict[str, Any]:
    return {"sequence_id": step.sequence, "sequence_start": step.start, "sequence_end": step.end}
