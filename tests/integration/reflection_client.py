"""Calls services as grpcurl does: with nothing but an address, and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

if TYPE_CHECKING:
    from collections.abc import Iterable

    import grpc
    from google.protobuf.descriptor import MethodDescriptor


class ReflectionClient:
    """Knows of the server's messages only what reflection tells."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._database = ProtoReflectionDescriptorDatabase(channel)
        self._pool = DescriptorPool(self._database)

    def services(self) -> list[str]:
        return list(self._database.get_services())

    def methods(self, service: str) -> list[str]:
        return [method.name for method in self._pool.FindServiceByName(service).methods]

    def call(self, path: str, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        """Calls `SERVICE/METHOD`; one request or response where the method streams neither."""
        service, _, name = path.partition("/")
        method = self._pool.FindServiceByName(service).methods_by_name[name]
        answers = self._answers(method, [self._message(method, request) for request in requests])
        return [json_format.MessageToDict(answer) for answer in answers]

    def _message(self, method: MethodDescriptor, content: dict[str, Any]) -> Any:
        return json_format.Parse(json.dumps(content), GetMessageClass(method.input_type)())

    def _answers(self, method: MethodDescriptor, requests: list[Any]) -> Iterable[Any]:
        path = f"/{method.containing_service.full_name}/{method.name}"
        coding = {
            "request_serializer": GetMessageClass(method.input_type).SerializeToString,
            "response_deserializer": GetMessageClass(method.output_type).FromString,
        }
        if method.client_streaming and method.server_streaming:
            return self._channel.stream_stream(path, **coding)(iter(requests))
        [request] = requests
        return [self._channel.unary_unary(path, **coding)(request)]
