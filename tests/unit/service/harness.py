"""The real servicer on a real socket, with fake models and a fake voice behind it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
import numpy as np

from service.admission import Admission
from service.conversation_service import ConversationServicer, Limits
from service.handlers import conversation_handler
from service.wire import SERVICE_NAME
from tests.unit.pipelines.fakes import FakeModels
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import conversation_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from typing import Self

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

    def probability(self, window: np.ndarray) -> float:
        if self._voice.error:
            raise self._voice.error
        return self._voice.probability


@dataclass
class Harness:
    channel: grpc.aio.Channel
    admission: Admission
    models: FakeModels = field(default_factory=lambda: FakeModels(0.001, 0.001, 0.001))
    voice: FakeVoice = field(default_factory=FakeVoice)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls, max_conversations: int = 8, idle_seconds: float = 60, grace_seconds: float = 5, *, ready: bool = True
    ) -> AsyncIterator[Self]:
        admission = Admission(max_conversations)
        if ready:
            admission.open()
        server = grpc.aio.server()
        port = server.add_insecure_port("127.0.0.1:0")
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            harness = cls(channel, admission)
            limits = Limits(idle_seconds, grace_seconds, config_seconds=idle_seconds)
            servicer = ConversationServicer(harness.models, harness.voice, admission, limits)
            server.add_generic_rpc_handlers((conversation_handler(servicer),))
            await server.start()
            try:
                yield harness
            finally:
                await server.stop(grace=None)

    @property
    def stub(self) -> conversation_pb2_grpc.ConversationServiceStub:
        return conversation_pb2_grpc.ConversationServiceStub(self.channel)

    async def converse(self, requests: Iterable[pb.ConverseRequest]) -> list[pb.ConverseResponse]:
        """Sends all requests, half-closes, and returns all responses."""
        return await _exchange(self.stub.Converse(), requests)

    async def converse_raw(self, requests: Iterable[bytes]) -> list[bytes]:
        return await _exchange(self.channel.stream_stream(f"/{SERVICE_NAME}/Converse")(), requests)

    async def ask_raw(self, request: bytes) -> bytes:
        return await self.channel.unary_unary(f"/{SERVICE_NAME}/Ask")(request)

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits until something that happens on the server has happened."""
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.001)


async def _exchange(call: grpc.aio.StreamStreamCall, requests: Iterable[object]) -> list:
    """Writes and reads by hand: an iterator of requests would hide the server's error behind the failed write."""
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        for request in requests:
            await call.write(request)
        await call.done_writing()
    came = []
    while (response := await call.read()) is not grpc.aio.EOF:
        came.append(response)
    if await call.code() is not grpc.StatusCode.OK:
        raise grpc.aio.AioRpcError(
            await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
        )
    return came
