"""Binds the servicers to the methods of their contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
from starlette.routing import Route, WebSocketRoute

from service.api.vivavoce.conversation import ConversationServicer
from service.api.vivavoce.converters import SERVICE_NAME
from service.api.vivavoce.models import SERVICE_NAME as MODEL_SERVICE_NAME
from service.api.vivavoce.say import SpeechServicer
from service.api.vivavoce.web import WebConversations
from service.grpc_server.deserializers import reader
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import models_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from starlette.routing import BaseRoute

    from service.api.vivavoce.models import ModelServicer
    from service.sessions.host import SessionHost


class VivavoceApi:
    """Handlers of ``vivavoce.v1`` for callers; see ``service.api.registry.Api``."""

    def __init__(self, host: SessionHost) -> None:
        self.handlers = {SERVICE_NAME: conversation_handler(ConversationServicer(host), SpeechServicer(host))}
        self.recording_handlers: Mapping[str, grpc.GenericRpcHandler] = {}
        web = WebConversations(host)
        self.routes: Sequence[BaseRoute] = (
            WebSocketRoute("/v1/converse", web.converse),
            Route("/v1/agents", web.agents, methods=["GET"]),
            Route("/v1/ask", web.ask, methods=["POST"]),
        )


def conversation_handler(
    servicer: ConversationServicer, speech: SpeechServicer | None = None
) -> grpc.GenericRpcHandler:
    """Return the handler of ``ConversationService``; Say needs ``speech``."""
    methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "Converse": grpc.stream_stream_rpc_method_handler(
            servicer.Converse, reader(pb.ConverseRequest), pb.ConverseResponse.SerializeToString
        ),
        "Ask": grpc.unary_unary_rpc_method_handler(
            servicer.Ask, reader(pb.AskRequest), pb.AskResponse.SerializeToString
        ),
    }
    if speech is not None:
        methods["Say"] = grpc.unary_stream_rpc_method_handler(
            speech.Say, reader(pb.SayRequest), pb.SayResponse.SerializeToString
        )
    return grpc.method_handlers_generic_handler(SERVICE_NAME, methods)


def model_handler(servicer: ModelServicer) -> grpc.GenericRpcHandler:
    """Return the handler of ``ModelService`` for a server."""
    methods = {
        name: grpc.unary_unary_rpc_method_handler(
            getattr(servicer, name),
            reader(getattr(models_pb2, f"{name}Request")),
            getattr(models_pb2, f"{name}Response").SerializeToString,
        )
        for name in ("ListModels", "LoadModel", "UnloadModel", "RollBackModel")
    }
    return grpc.method_handlers_generic_handler(MODEL_SERVICE_NAME, methods)
