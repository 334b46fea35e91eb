"""Binds OpenAI's contract to paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route, WebSocketRoute

from service.api.http.nvidia.synthesis import SynthesisEndpoint
from service.api.http.openai.models import ModelsEndpoint
from service.api.http.openai.realtime.endpoint import PATH, RealtimeEndpoint
from service.api.http.openai.speech import SpeechEndpoint
from service.api.http.openai.transcriptions import Transcriptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import grpc
    from starlette.routing import BaseRoute

    from service.sessions.host import SessionHost


class OpenAiApi:
    """OpenAI's audio contract; see ``service.api.registry.Api``."""

    def __init__(self, host: SessionHost) -> None:
        self.handlers: Mapping[str, grpc.GenericRpcHandler] = {}
        self.recording_handlers: Mapping[str, grpc.GenericRpcHandler] = {}
        models, realtime, synthesis = ModelsEndpoint(host), RealtimeEndpoint(host), SynthesisEndpoint(host)
        self.routes: Sequence[BaseRoute] = (
            Route("/v1/audio/transcriptions", Transcriptions(host), methods=["POST"]),
            Route("/v1/audio/translations", Transcriptions(host, translates=True), methods=["POST"]),
            Route("/v1/audio/speech", SpeechEndpoint(host).speak, methods=["POST"]),
            WebSocketRoute(PATH, realtime.serve),
            Route(f"{PATH}/client_secrets", realtime.make_secret, methods=["POST"]),
            Route(f"{PATH}/sessions", realtime.make_session, methods=["POST"]),
            Route(f"{PATH}/transcription_sessions", realtime.make_session, methods=["POST"]),
            Route(f"{PATH}/synthesis_sessions", synthesis.make_session, methods=["POST"]),
            Route("/v1/audio/list_voices", synthesis.list_voices),
            Route("/v1/models", models.list),
            Route("/v1/models/{name:path}", models.one),
        )
