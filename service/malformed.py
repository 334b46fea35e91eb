"""Handlers for which a request that is no protobuf is a bad request, and not the server's fault.

gRPC's own deserialization failure would end the call with INTERNAL before a servicer sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import grpc
from google.protobuf.message import DecodeError

from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from service.conversation_service import ConversationServicer

MALFORMED: Final = object()
"""Stands for a request that could not be read."""

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ConversationService"].full_name


def conversation_handler(servicer: ConversationServicer) -> grpc.GenericRpcHandler:
    """Returns the handler of ``ConversationService`` for a server."""
    methods = {
        "Converse": grpc.stream_stream_rpc_method_handler(
            servicer.Converse, _reader(pb.ConverseRequest), pb.ConverseResponse.SerializeToString
        ),
        "Ask": grpc.unary_unary_rpc_method_handler(
            servicer.Ask, _reader(pb.AskRequest), pb.AskResponse.SerializeToString
        ),
    }
    return grpc.method_handlers_generic_handler(SERVICE_NAME, methods)


def _reader(message: type[Message]) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        try:
            return message.FromString(data)
        except DecodeError:
            return MALFORMED

    return read
