"""The real servicer on a real socket, with fake models and a fake voice behind it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
import numpy as np

from pipelines.knowledge.bases import NO_BASES
from pipelines.load.workload import Workload
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.stages.answering_stage import AnsweringStage
from service.admission.admission import Admission, RecordingMemory
from service.api.registry import SHIPPED_APIS
from service.api.vivavoce.converters import SERVICE_NAME
from service.grpc_server.caller_check import CallerCheck
from service.grpc_server.deserializers import MAX_RECEIVED_BYTES, MAX_RECORDING_BYTES
from service.grpc_server.first_messages import FirstMessages
from service.grpc_server.message_gate import MessageGate
from service.grpc_server.server_ports import listen, server_options
from service.security.authentication import Authenticator
from service.sessions.dialogs import Dialogs
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations
from tests.unit.pipelines.fakes import FakeModels
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import conversation_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from typing import Self

    from pipelines.knowledge.bases import KnowledgeBases
    from pipelines.turns.observer import TurnObserver
    from service.telemetry.call_observer import CallObserver

SPEECH = np.zeros(1600, "<i2").tobytes()
"""A tenth of a second; the fake voice decides whether it is speech."""

voiced = 1.0


def speaking(seconds: float) -> list[pb.ConverseRequest]:
    return [pb.ConverseRequest(audio=SPEECH)] * round(seconds * 10)


@dataclass
class FakeVoice:
    """Takes everything for speech, or for whatever a test says."""

    probability: float = voiced
    error: Exception | None = None

    def new_stream(self) -> _FakeStream:
        return _FakeStream(self)


class _FakeStream:
    def __init__(self, voice: FakeVoice) -> None:
        self._voice = voice

    def probabilities(self, windows: np.ndarray) -> list[float]:
        if self._voice.error:
            raise self._voice.error
        return [self._voice.probability] * len(windows)


def _server(
    max_message_bytes: int,
    authenticator: Authenticator | None,
    credentials: Callable[[], grpc.ServerCredentials] | None,
    observer: CallObserver | None,
    utilization: Callable[[], float] | None,
) -> tuple[grpc.aio.Server, str]:
    interceptors = [CallerCheck(authenticator or Authenticator(), observer, utilization), MessageGate(FirstMessages())]
    server = grpc.aio.server(options=server_options(64, max_message_bytes), interceptors=interceptors)
    address, _ = listen(server, "127.0.0.1", 0, credentials() if credentials else None)
    return server, address


@dataclass
class Harness:
    channel: grpc.aio.Channel
    recordings: grpc.aio.Channel
    admission: Admission
    address: str
    models: FakeModels = field(default_factory=lambda: FakeModels(0.001, 0.001, 0.001))
    voice: FakeVoice = field(default_factory=FakeVoice)
    memory: RecordingMemory = field(default_factory=lambda: RecordingMemory(MAX_RECORDING_BYTES))
    open_conversations: OpenConversations = field(default_factory=OpenConversations)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls,
        max_conversations: int = 8,
        idle_seconds: float = 60,
        grace_seconds: float = 5,
        longest_seconds: float = 600,
        turn_seconds: float = 60,
        *,
        ready: bool = True,
        speculates: bool = True,
        models: FakeModels | None = None,
        authenticator: Authenticator | None = None,
        credentials: Callable[[], grpc.ServerCredentials] | None = None,
        observer: CallObserver | None = None,
        turn_observer: TurnObserver | None = None,
        typed_observer: TurnObserver | None = None,
        utilization: Callable[[], float] | None = None,
        dialogs: Dialogs | None = None,
        bases: KnowledgeBases = NO_BASES,
    ) -> AsyncIterator[Self]:
        admission = Admission(max_conversations)
        if ready:
            admission.open()
        checks = (authenticator, credentials, observer, utilization)
        server, address = _server(MAX_RECEIVED_BYTES, *checks)
        recordings_server, recordings_address = _server(MAX_RECORDING_BYTES, *checks)
        async with (
            grpc.aio.insecure_channel(address) as channel,
            grpc.aio.insecure_channel(recordings_address) as recordings,
        ):
            memory = RecordingMemory(MAX_RECORDING_BYTES, admission.quotas)
            harness = cls(channel, recordings, admission, address, memory=memory)
            harness.models = models or harness.models
            harness.open_conversations = OpenConversations(Workload(observer=turn_observer))
            limits = Limits(idle_seconds, grace_seconds, idle_seconds, longest_seconds, turn_seconds)
            host = SessionHost(
                harness.models,
                harness.voice,
                admission,
                limits,
                harness.open_conversations,
                harness.memory,
                stages=SHIPPED_STAGES.replacing(AnsweringStage(bases)),
                knowledge=bases.names,
                speculates=speculates,
                typed_observer=typed_observer,
                dialogs=dialogs or Dialogs(),
            )
            for api in (make_api(host) for make_api in SHIPPED_APIS):
                server.add_generic_rpc_handlers(tuple(api.handlers.values()))
                recordings_server.add_generic_rpc_handlers(tuple(api.recording_handlers.values()))
            await server.start()
            await recordings_server.start()
            try:
                yield harness
            finally:
                await server.stop(grace=None)
                await recordings_server.stop(grace=None)

    @property
    def stub(self) -> conversation_pb2_grpc.ConversationServiceStub:
        return conversation_pb2_grpc.ConversationServiceStub(self.channel)

    async def converse(self, requests: Iterable[pb.ConverseRequest]) -> list[pb.ConverseResponse]:
        """Sends all requests, half-closes, and returns all responses."""
        return await self.exchange(lambda it: conversation_pb2_grpc.ConversationServiceStub(it).Converse, requests)

    async def converse_raw(self, requests: Iterable[bytes]) -> list[bytes]:
        return await self.exchange(lambda it: it.stream_stream(f"/{SERVICE_NAME}/Converse"), requests)

    async def exchange(
        self, method: Callable[[grpc.Channel], grpc.StreamStreamMultiCallable], requests: Iterable[object]
    ) -> list:
        """Sends all requests, half-closes, and returns all responses.

        With gRPC's synchronous API: the other one takes a write to a call that was just refused for its own error.
        """

        def call() -> list:
            with grpc.insecure_channel(self.address) as channel:
                return list(method(channel)(iter(requests), timeout=30))

        try:
            return await asyncio.to_thread(call)
        except grpc.RpcError as error:
            told = (error.code(), error.initial_metadata(), error.trailing_metadata(), error.details())
            raise grpc.aio.AioRpcError(*told) from error

    async def ask_raw(self, request: bytes) -> bytes:
        return await self.channel.unary_unary(f"/{SERVICE_NAME}/Ask")(request)

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits until something that happens on the server has happened."""
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.001)
