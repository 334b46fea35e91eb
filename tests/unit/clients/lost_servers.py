"""Servers that come and go, and somebody who speaks to them: for the tests of lost connections."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import ExitStack
from typing import TYPE_CHECKING

import vivavoce
from tests.unit.clients.fake_service import BYTES_PER_SECOND, FakeService, Script, make_reply, seconds, serving
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import grpc

    from vivavoce import Event, Utterable

WORD_SECONDS = 0.5


def word(number: int) -> bytes:
    """Half a second of audio that `hearing` understands as `number`; 0 is silence."""
    return bytes([number]) * round(WORD_SECONDS * BYTES_PER_SECOND)


SILENCE = word(0)


def hearing(name: str) -> Script:
    """Makes the script of a server that hears words, and takes the silence after them for the end of the utterance."""

    def script(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        heard = _Heard()
        for request in requests:
            match request.WhichOneof("request"):
                case "config":
                    yield pb.ConverseResponse(started=pb.Started(conversation_id=name))
                case "audio":
                    for number, repeated in itertools.groupby(request.audio):
                        yield from heard.add(number, len(list(repeated)) / BYTES_PER_SECOND)
                case "end_of_utterance":
                    yield from heard.end(pb.END_REASON_REQUESTED, request.request_id)
                case "text":
                    reply = make_reply(heard.turn, request.text, request_id=request.request_id)
                    yield pb.ConverseResponse(reply=reply)
                    heard.turn += 1
        yield from heard.end(pb.END_REASON_HALF_CLOSE)

    return script


class _Heard:
    def __init__(self) -> None:
        self.turn = 1
        self._words: list[str] = []
        self._start = self._position = 0.0

    def add(self, number: int, duration: float) -> Iterator[pb.ConverseResponse]:
        if number == 0:
            yield from self.end(pb.END_REASON_SILENCE)
        elif not self._words:
            self._start = self._position
            began = pb.SpeechBegan(turn=self.turn, start=seconds(self._position))
            yield pb.ConverseResponse(speech_began=began)
        self._position += duration
        if number and str(number) not in self._words:
            self._words.append(str(number))
            yield self._transcript(is_final=False)

    def end(self, reason: pb.EndReason, request_id: str = "") -> Iterator[pb.ConverseResponse]:
        if self._words:
            end = seconds(self._position)
            ended = pb.SpeechEnded(turn=self.turn, end=end, reason=reason, request_id=request_id)
            yield pb.ConverseResponse(speech_ended=ended)
            yield self._transcript(is_final=True)
            reply = make_reply(self.turn, " ".join(self._words), request_id=request_id)
            yield pb.ConverseResponse(reply=reply)
            self.turn, self._words = self.turn + 1, []

    def _transcript(self, *, is_final: bool) -> pb.ConverseResponse:
        start, end = seconds(self._start), seconds(self._position)
        text = " ".join(self._words)
        return pb.ConverseResponse(
            transcript=pb.Transcript(turn=self.turn, text=text, is_final=is_final, start=start, end=end)
        )


class Servers:
    """Servers that follow one another on one port."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self.address = "127.0.0.1:0"

    def start(self, script: Script) -> FakeService:
        service = self._running.enter_context(serving(self.address))
        service.script = script
        self.address = service.address
        return service

    async def stop(self) -> None:
        await asyncio.to_thread(self._running.close)


class Speaker:
    """Says some things at once and others when told to."""

    def __init__(self, *at_once: Utterable) -> None:
        self._at_once = at_once
        self._later: asyncio.Queue[Utterable | Exception | None] = asyncio.Queue()

    def say(self, *said: Utterable | Exception | None) -> None:
        """Says more; None is the end."""
        for one in said:
            self._later.put_nowait(one)

    async def speech(self) -> AsyncIterator[Utterable]:
        for one in self._at_once:
            yield one
        while (said := await self._later.get()) is not None:
            if isinstance(said, Exception):
                raise said
            yield said


def replies(events: list[Event]) -> list[tuple[int, str]]:
    return [(event.turn, event.transcript) for event in events if isinstance(event, vivavoce.Reply)]


def is_partial(event: Event, text: str) -> bool:
    return isinstance(event, vivavoce.Transcript) and not event.is_final and event.text == text


async def collect(conversation: vivavoce.Conversation) -> list[Event]:
    return [event async for event in conversation]
