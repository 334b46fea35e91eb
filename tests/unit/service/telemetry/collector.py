"""A collector of traces: OTLP's service over gRPC, in this process."""

from __future__ import annotations

import contextlib
from concurrent import futures
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps the requests that come."""

    requests: list[pb.ExportTraceServiceRequest] = field(default_factory=list)

    def Export(  # noqa: N802 - named by the contract
        self, request: pb.ExportTraceServiceRequest, _: object
    ) -> pb.ExportTraceServiceResponse:
        self.requests.append(request)
        return pb.ExportTraceServiceResponse()

    @property
    def spans(self) -> list[Span]:
        resources = [resource for request in self.requests for resource in request.resource_spans]
        return [span for resource in resources for scope in resource.scope_spans for span in scope.spans]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


def attributes(span: Span) -> dict[str, object]:
    return {it.key: getattr(it.value, it.value.WhichOneof("value")) for it in span.attributes}


@contextlib.contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    """Runs a collector; yields it with its URL."""
    collector = Collector()
    server = grpc.server(futures.ThreadPoolExecutor(1))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield collector, f"http://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
