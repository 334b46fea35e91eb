"""Scripted conversation service without models, on a real socket."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc

from vivavoce.testing._turns import Answers, Script, Turn, answering, scripted
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1.conversation_pb2_grpc import (
    ConversationServiceServicer,
    add_ConversationServiceServicer_to_server,
)

Speaks: TypeAlias = Callable[[pb.SayRequest, grpc.ServicerContext], Iterator[pb.SayResponse]]
"""What a service answers to `Client.say`, in messages of `vivavoce.v1`."""

MAX_CALLS = 32
_WORD_SECONDS = 0.1
_SAMPLE_BYTES = {pb.AUDIO_ENCODING_MULAW: 1, pb.AUDIO_ENCODING_ALAW: 1, pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32: 4}


def silence(request: pb.SayRequest, _context: grpc.ServicerContext) -> Iterator[pb.SayResponse]:
    """Speak each word as a tenth of a second of silence."""
    text = request.text or request.ssml
    sample_bytes = _SAMPLE_BYTES.get(request.encoding, 2)
    for number, _ in enumerate(text.split()):
        sentences = [pb.SentenceMark(text=text)] if number == 0 else []
        samples = round(_WORD_SECONDS * (request.sample_rate_hz or 24_000))
        yield pb.SayResponse(audio=bytes(sample_bytes * samples), sentences=sentences)


@dataclass
class FakeService(ConversationServiceServicer):
    """Remembers what it was sent, and answers by its script. Made by `serving`."""

    script: Script = field(default_factory=lambda: scripted(Turn("turn on the light"), repeated=True))
    """What it does in conversations. May be replaced between two of them."""
    answer: Answers = field(default_factory=answering)
    """What it answers to `Client.ask`."""
    speak: Speaks = silence
    """What it answers to `Client.say`: a tenth of a second of silence for each word, unless it is replaced."""
    address: str = ""
    """Where it listens."""
    received: list[pb.ConverseRequest] = field(default_factory=list)
    """Every message of all conversations, as it came."""
    asked: list[pb.AskRequest] = field(default_factory=list)
    """Every request of `Client.ask`."""
    said: list[pb.SayRequest] = field(default_factory=list)
    """Every request of `Client.say`."""
    conversations: int = 0
    """How many conversations have begun."""
    config_arrived: threading.Event = field(default_factory=threading.Event)
    """Set once a conversation has sent its config."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set once a conversation is over."""

    def audio(self) -> bytes:
        """Return all audio that was sent."""
        return b"".join(request.audio for request in self.received)

    def texts(self) -> list[str]:
        """Return the typed turns of conversations."""
        return [request.text for request in self.received if request.HasField("text")]

    def config(self) -> pb.ConversationConfig:
        """Return the config of the first conversation."""
        return self.received[0].config

    def Converse(  # noqa: N802 - the name in the protocol
        self, request_iterator: Iterator[pb.ConverseRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.ConverseResponse]:
        """Hold one conversation; gRPC calls it."""
        self.conversations += 1
        context.add_callback(self.ended.set)
        yield from self.script(self._remembered(request_iterator), context)

    def Ask(  # noqa: N802 - the name in the protocol
        self, request: pb.AskRequest, context: grpc.ServicerContext
    ) -> pb.AskResponse:
        """Answer one typed turn; gRPC calls it."""
        self.asked.append(request)
        return pb.AskResponse(reply=self.answer(request, context))

    def Say(  # noqa: N802 - the name in the protocol
        self, request: pb.SayRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.SayResponse]:
        """Speak a text; gRPC calls it."""
        self.said.append(request)
        yield from self.speak(request, context)

    def _remembered(self, requests: Iterator[pb.ConverseRequest]) -> Iterator[pb.ConverseRequest]:
        for request in requests:
            self.received.append(request)
            if request.HasField("config"):
                self.config_arrived.set()
            yield request


@contextmanager
def serving(*turns: Turn, address: str = "127.0.0.1:0") -> Iterator[FakeService]:
    """Run a fake service while the block lasts.

    Args:
        turns: What is said and replied in each conversation, utterance by utterance; none: a command, again and again.
        address: Where it listens, `HOST:PORT`; with port 0 the system chooses one.
    """
    service = FakeService()
    if turns:
        service.script = scripted(*turns)
        service.answer = answering(*turns)
    server = grpc.server(futures.ThreadPoolExecutor(MAX_CALLS))
    add_ConversationServiceServicer_to_server(service, server)  # type: ignore[no-untyped-call] # generated
    host, _, _ = address.rpartition(":")
    service.address = f"{host}:{server.add_insecure_port(address)}"
    server.start()
    try:
        yield service
    finally:
        server.stop(None).wait()
