"""Speech from a server: `client.say`, with and without asyncio, and `vivavoce say`."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
import wave
from typing import TYPE_CHECKING, Any

import grpc
import pytest

import vivavoce
import vivavoce.sync
from tests.unit.clients.fake_service import FakeService, error_info, refuse
from vivavoce.cli import run
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Capture = pytest.CaptureFixture[str]
TOMATO = vivavoce.Pronunciation("tomato", "təˈmeɪtoʊ")


class Endless:
    """Speaks until nobody listens any more."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def __call__(self, _request: pb.SayRequest, context: grpc.ServicerContext) -> Iterator[pb.SayResponse]:
        context.add_callback(self.ended.set)
        while context.is_active():
            yield pb.SayResponse(audio=bytes(480))
            time.sleep(0.01)


def refused(_request: pb.SayRequest, context: grpc.ServicerContext) -> Iterator[pb.SayResponse]:
    refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "there is no voice 'x'", error_info("UNKNOWN_VOICE"))
    yield pb.SayResponse()


async def test_speech_comes_in_chunks(client: vivavoce.Client, service: FakeService) -> None:
    chunks = [chunk async for chunk in client.say("one two three")]
    assert [len(chunk.audio) for chunk in chunks] == [4_800] * 3
    assert chunks[0].sentences == (vivavoce.SpokenSentence("one two three", 0.0),)
    (request,) = service.said
    assert (request.text, request.encoding, request.sample_rate_hz) == (
        "one two three",
        pb.AUDIO_ENCODING_LINEAR_PCM,
        24_000,
    )


async def test_everything_is_asked_for(client: vivavoce.Client, service: FakeService) -> None:
    audio = vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000)
    speech = client.say(
        ssml="<speak>x</speak>", voice="heart", language="en-GB", audio=audio, speed=1.5, seed=7, lexicon=[TOMATO]
    )
    assert [len(chunk.audio) async for chunk in speech] == [800]
    (request,) = service.said
    assert request == pb.SayRequest(
        ssml="<speak>x</speak>",
        voice="heart",
        encoding=pb.AUDIO_ENCODING_MULAW,
        sample_rate_hz=8_000,
        speed=1.5,
        seed=7,
        language_code="en-GB",
        lexicon=[pb.LexiconEntry(word="tomato", phonemes="təˈmeɪtoʊ")],
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, vivavoce.InvalidRequest, "give one of them"),
        ({"text": "x", "ssml": "y"}, vivavoce.InvalidRequest, "give one of them"),
        ({"text": 5}, TypeError, "text is a str, not int"),
        ({"text": "x", "audio": "wav"}, TypeError, "AudioFormat, not str"),
        ({"text": "x", "audio": vivavoce.AudioFormat(channel_count=2)}, vivavoce.InvalidRequest, "one channel"),
        ({"text": "x", "speed": "fast"}, TypeError, "speed"),
        ({"text": "x", "language": 1}, TypeError, "language"),
        ({"text": "x", "seed": 1 << 70}, vivavoce.InvalidRequest, "seed"),
        ({"text": "x", "lexicon": [("a", "b")]}, TypeError, "Pronunciation"),
        ({"text": "\ud800"}, vivavoce.InvalidRequest, "Unicode"),
    ],
)
async def test_what_cannot_be_sent_is_refused_at_once(
    client: vivavoce.Client, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        client.say(**arguments)


async def test_what_the_server_refuses_is_raised(client: vivavoce.Client, service: FakeService) -> None:
    service.speak = refused
    with pytest.raises(vivavoce.InvalidRequest) as raised:
        await anext(client.say("x"))
    assert raised.value.reason == "UNKNOWN_VOICE"


async def test_leaving_early_ends_the_speech(client: vivavoce.Client, service: FakeService) -> None:
    service.speak = endless = Endless()
    speech = client.say("x")
    await anext(speech)
    assert not endless.ended.is_set()
    await speech.aclose()
    assert await asyncio.to_thread(endless.ended.wait, 5)


async def test_a_server_that_stops_speaking_is_not_waited_for(service: FakeService) -> None:
    def silent(_request: pb.SayRequest, context: grpc.ServicerContext) -> Iterator[pb.SayResponse]:
        yield pb.SayResponse(audio=b"xx")
        while context.is_active():
            time.sleep(0.01)

    service.speak = silent
    async with vivavoce.connect(service.address, response_timeout_seconds=0.2) as client:
        speech = client.say("x")
        await anext(speech)
        with pytest.raises(vivavoce.ResponseOverdue):
            await anext(speech)


def test_without_asyncio(service: FakeService) -> None:
    with vivavoce.sync.connect(service.address) as client:
        assert [len(chunk.audio) for chunk in client.say("one two")] == [4_800] * 2
        with pytest.raises(vivavoce.InvalidRequest, match="give one"):
            client.say()
        service.speak = endless = Endless()
        speech = client.say("x")
        next(speech)
        assert not endless.ended.is_set()
        speech.close()
        assert endless.ended.wait(5)
        service.speak = refused
        with pytest.raises(vivavoce.InvalidRequest, match="no voice"):
            next(client.say("x"))


def test_the_command_writes_a_file(service: FakeService, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "speech.wav"
    assert run(["say", "one two three", "--out", str(out), "--rate", "16000", "--server", service.address]) == 0
    with wave.open(str(out)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (16_000, 1, 4_800)
    assert capsys.readouterr().out == f"{out}: 0.3 s of speech\n"


def test_the_command_tells_programs(service: FakeService, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "speech.wav"
    options = ["--speed", "1.5", "--seed", "3", "--pronounce", "tomato=təˈmeɪtoʊ", "--language", "en", "--ssml"]
    arguments = ["say", "<speak>one</speak>", "--out", str(out), *options, "--server", service.address, "--json"]
    assert run(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("first_audio_ms") > 0
    assert printed == {
        "event": "speech",
        "file": str(out),
        "seconds": 0.1,
        "sentences": [{"text": "<speak>one</speak>", "start_s": 0.0}],
    }
    assert (service.said[0].lexicon[0].phonemes, service.said[0].language_code) == ("təˈmeɪtoʊ", "en")


def test_the_command_writes_opus_as_it_comes(service: FakeService, tmp_path: Path) -> None:
    def speak(_request: pb.SayRequest, _context: grpc.ServicerContext) -> Iterator[pb.SayResponse]:
        yield pb.SayResponse(audio=b"OggS")
        yield pb.SayResponse(audio=b"rest")

    service.speak = speak
    out = tmp_path / "speech.opus"
    assert run(["say", "one", "--out", str(out), "--server", service.address]) == 0
    assert out.read_bytes() == b"OggSrest"
    assert service.said[0].encoding == pb.AUDIO_ENCODING_OGGOPUS


def test_the_command_reads_stdin(service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Grüße".encode())))
    assert run(["say", "-", "--out", str(tmp_path / "x.wav"), "--server", service.address]) == 0
    assert service.said[0].text == "Grüße"


def test_a_text_that_is_refused_leaves_the_file_as_it_was(
    service: FakeService, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "speech.wav"
    out.write_bytes(b"before")
    service.speak = refused
    assert run(["say", "one", "--out", str(out), "--server", service.address]) == 1
    assert capsys.readouterr().err == "there is no voice 'x'.\n"
    assert out.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["say", "x"], "--out"),
        (["say", "x", "--out", "speech.mp3"], "choose one of .wav, .ogg, .opus"),
        (["say", "x", "--out", "x.wav", "--pronounce", "tomato"], "write WORD=IPA"),
        (["say", "x", "--out", "x.wav", "--speed", "9"], "0.5"),
        (["say", "x", "--out", "x.wav", "--rate", "9"], "8000"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: Capture) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_named(service: FakeService, tmp_path: Path, capsys: Capture) -> None:
    assert run(["say", "x", "--out", str(tmp_path / "none" / "x.wav"), "--server", service.address]) == 1
    assert "No such file or directory" in capsys.readouterr().err
