"""gRPC's health checking and reflection, with requests that cannot be read refused as everywhere else.

The packages of gRPC that implement them log a traceback for each such request, and answer UNKNOWN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from service.errors import reported_to
from service.malformed import reader, refuse_malformed
from service.writing import write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from grpc_health.v1 import health

    from service.errors import Context

HEALTH_SERVICE_NAME: str = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
REFLECTION_SERVICE_NAME: str = reflection.SERVICE_NAME


def health_handler(servicer: health.aio.HealthServicer) -> grpc.GenericRpcHandler:
    """Return the handler of ``grpc.health.v1.Health`` for a server."""

    async def check(request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        async with reported_to(context):
            refuse_malformed(request)
        return await servicer.Check(request, context)  # type: ignore[arg-type] # a context of any messages

    async def watch(request: health_pb2.HealthCheckRequest, context: Context) -> None:
        async with reported_to(context):
            refuse_malformed(request)
        await servicer.Watch(request, context)  # type: ignore[arg-type]

    read, write_response = reader(health_pb2.HealthCheckRequest), health_pb2.HealthCheckResponse.SerializeToString
    methods = {
        "Check": grpc.unary_unary_rpc_method_handler(check, read, write_response),
        "Watch": grpc.unary_stream_rpc_method_handler(watch, read, write_response),
    }
    return grpc.method_handlers_generic_handler(HEALTH_SERVICE_NAME, methods)


def reflection_handler(service_names: Sequence[str]) -> grpc.GenericRpcHandler:
    """Return the handler of ``grpc.reflection.v1alpha.ServerReflection`` for a server that has these services."""
    servicer = reflection.aio.ReflectionServicer(service_names)

    async def info(requests: AsyncIterator[reflection_pb2.ServerReflectionRequest], context: Context) -> None:
        async with reported_to(context):
            # An asynchronous generator, whatever its type says.
            responses: Any = servicer.ServerReflectionInfo(_readable(requests), context)
            async for response in responses:
                await write(context, response)

    read = reader(reflection_pb2.ServerReflectionRequest)
    write_response = reflection_pb2.ServerReflectionResponse.SerializeToString
    methods = {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(info, read, write_response)}
    return grpc.method_handlers_generic_handler(REFLECTION_SERVICE_NAME, methods)


async def _readable(
    requests: AsyncIterator[reflection_pb2.ServerReflectionRequest],
) -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
    async for request in requests:
        refuse_malformed(request)
        yield request
