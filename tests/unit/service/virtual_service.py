"""The real servicers in virtual time: without sockets, and with fake models behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc

from service.admission.admission import Admission, RecordingMemory
from service.api.riva.asr.recognition import SpeechServicer
from service.api.vivavoce.conversation import ConversationServicer
from service.grpc_server.deserializers import MAX_RECORDING_BYTES
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.harness import FakeVoice
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.message import Message

PCM = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
CONFIG = pb.ConverseRequest(config=pb.ConversationConfig(audio=PCM))


class AbortError(Exception):
    """What gRPC raises where a call is ended with a status."""


class Context:
    """A call: remembers what was written to it and when, and how it ended."""

    def __init__(self) -> None:
        self.written: list[tuple[float, Message]] = []
        self.code = grpc.StatusCode.OK

    def time_remaining(self) -> float | None:
        return None

    async def send_initial_metadata(self, metadata: tuple[()]) -> None:
        assert not self.written

    async def write(self, response: Message) -> None:
        await asyncio.sleep(0)
        self.written.append((asyncio.get_running_loop().time(), response))

    async def abort(self, code: grpc.StatusCode, details: str, trailing_metadata: object) -> None:
        self.code = code
        raise AbortError(details)

    @property
    def kinds(self) -> list[str]:
        return [response.WhichOneof("response") for _, response in self.written]


class VirtualService:
    """The servicers, and what is behind them."""

    def __init__(self, models: FakeModels | None = None, **limits: float) -> None:
        self.models, self.voice = models or FakeModels(), FakeVoice()
        self.open, self.context = OpenConversations(), Context()
        self.admission = Admission(8)
        self.admission.open()
        memory = RecordingMemory(MAX_RECORDING_BYTES)
        host = SessionHost(self.models, self.voice, self.admission, Limits(**limits), self.open, memory)
        self.servicer, self.speech = ConversationServicer(host), SpeechServicer(host)

    def call(self, requests: AsyncIterator[Any], method: str = "Converse") -> asyncio.Task[None]:
        """Begins a call of a method that streams both ways."""
        servicer = self.servicer if method == "Converse" else self.speech
        return asyncio.create_task(getattr(servicer, method)(requests, self.context))
