"""Binds the servicers to the methods of their contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from service.malformed import reader
from service.wire import SERVICE_NAME
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from service.conversation_service import ConversationServicer


def conversation_handler(servicer: ConversationServicer) -> grpc.GenericRpcHandler:
    """Returns the handler of ``ConversationService`` for a server."""
    methods = {
        "Converse": grpc.stream_stream_rpc_method_handler(
            servicer.Converse, reader(pb.ConverseRequest), pb.ConverseResponse.SerializeToString
        ),
        "Ask": grpc.unary_unary_rpc_method_handler(
            servicer.Ask, reader(pb.AskRequest), pb.AskResponse.SerializeToString
        ),
    }
    return grpc.method_handlers_generic_handler(SERVICE_NAME, methods)
