"""From texts to speech, through the package's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeTextFormat,
    SynthesizeVoice,
)

from tests.unit.clients.fake_service import error_info, refuse
from tests.unit.clients.wyoming.events import hear, hear_all, hear_rest, say
from vivavoce.testing._service import silence
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.wyoming.speech_out import MAX_TEXT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wyoming.client import AsyncTcpClient
    from wyoming.event import Eventable

    from tests.unit.clients.fake_service import FakeService


def signs_alone_are_refused(request: pb.SayRequest, context: grpc.ServicerContext) -> Iterator[pb.SayResponse]:
    if not any(character.isalnum() for character in request.text):
        refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "nothing to speak", error_info("NOTHING_TO_SPEAK"))
    yield from silence(request, context)


async def test_speech_is_described(home: AsyncTcpClient) -> None:
    await say(home, Describe())
    [program] = (await hear(home, Info)).tts
    assert program.installed
    assert program.supports_synthesize_streaming
    assert [voice.languages for voice in program.voices] == [["en"]]


async def test_a_text_is_spoken(home: AsyncTcpClient, service: FakeService) -> None:
    await say(home, Synthesize("one two three", voice=SynthesizeVoice(name="vivavoce")))
    assert await hear(home, AudioStart) == AudioStart(rate=24_000, width=2, channels=1)
    sizes = [len((await hear(home, AudioChunk)).audio) for _ in range(3)]
    assert sizes == [4_800] * 3
    await hear(home, AudioStop)
    assert [request.text for request in service.said] == ["one two three"]
    await say(home, Ping("x"))
    assert (await hear(home, Pong)).text == "x"


async def test_ssml_is_spoken(home: AsyncTcpClient, service: FakeService) -> None:
    await say(home, Synthesize("<speak>one</speak>", text_format=SynthesizeTextFormat.SSML))
    assert await hear_all(home, AudioStop) == ["audio-start", "audio-chunk", "audio-stop"]
    assert [request.ssml for request in service.said] == ["<speak>one</speak>"]


async def test_sentences_are_spoken_while_the_text_comes(home: AsyncTcpClient, service: FakeService) -> None:
    await say(home, SynthesizeStart(), SynthesizeChunk("One two. Thr"))
    await hear(home, AudioStart)
    await hear(home, AudioChunk)
    assert [request.text for request in service.said] == ["One two. "]
    # The whole text comes again, for servers that take none in pieces.
    await say(home, SynthesizeChunk("ee."), Synthesize("One two. Three."), SynthesizeStop())
    assert (await hear_all(home, SynthesizeStopped))[-2:] == ["audio-stop", "synthesize-stopped"]
    assert [request.text for request in service.said] == ["One two. ", "Three."]


async def test_a_sentence_of_signs_alone_is_left_out(home: AsyncTcpClient, service: FakeService) -> None:
    service.speak = signs_alone_are_refused
    await say(home, SynthesizeStart(), SynthesizeChunk("Hi. :-). Bye."), SynthesizeStop())
    types = await hear_all(home, SynthesizeStopped)
    assert types == ["audio-start", "audio-chunk", "audio-chunk", "audio-stop", "synthesize-stopped"]


async def test_a_stream_of_nothing_has_empty_audio(home: AsyncTcpClient) -> None:
    await say(home, SynthesizeStart(), SynthesizeStop())
    assert await hear_all(home, SynthesizeStopped) == ["audio-start", "audio-stop", "synthesize-stopped"]


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([Synthesize("x", voice=SynthesizeVoice(name="nobody"))], "unknown-program"),
        ([Synthesize("x", voice=SynthesizeVoice(language="de"))], "unsupported-language"),
        ([Synthesize("x", text_format="morse")], "bad-event"),
        ([Synthesize(5)], "bad-event"),  # type: ignore[arg-type]
        ([SynthesizeStart(voice=SynthesizeVoice(name="nobody"))], "unknown-program"),
        ([SynthesizeStart(text_format="ssml")], "bad-event"),
        ([SynthesizeChunk("x")], "bad-order"),
        ([SynthesizeStop()], "bad-order"),
        ([SynthesizeStart(), SynthesizeChunk(5)], "bad-event"),  # type: ignore[arg-type]
        ([SynthesizeStart(), SynthesizeChunk("x" * (MAX_TEXT_CHARACTERS + 1))], "text-too-long"),
    ],
)
async def test_what_cannot_be_spoken_is_an_error_and_ends_the_connection(
    home: AsyncTcpClient, events: list[Eventable], code: str
) -> None:
    await say(home, *events)
    assert (await hear(home, Error)).code == code
    assert await hear_rest(home) == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_the_service_refuses_is_told_and_ends_the_connection(
    home: AsyncTcpClient, service: FakeService, *, streamed: bool
) -> None:
    def refused(_request: pb.SayRequest, context: grpc.ServicerContext) -> Iterator[pb.SayResponse]:
        refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "a control character", error_info("CONTROL_CHARACTER"))
        yield pb.SayResponse()

    service.speak = refused
    events: list[Eventable] = [SynthesizeStart(), SynthesizeChunk("x. "), SynthesizeStop()]
    await say(home, *(events if streamed else [Synthesize("x")]))
    error = await hear(home, Error)
    assert error.text == "a control character"
    assert await hear_rest(home) == []
