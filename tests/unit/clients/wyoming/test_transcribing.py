"""From audio to transcripts, through the package's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize, SynthesizeVoice

from tests.unit.clients.wyoming.events import chunk, hear, hear_all, say, speak
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.wyoming import Settings, WyomingServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    import grpc

    import vivavoce
    from tests.unit.clients.fake_service import FakeService


async def test_transcripts_are_streamed_and_the_whole_follows(home: AsyncTcpClient) -> None:
    await speak(home)

    assert (await hear(home, TranscriptStart)).language == "en"
    assert (await hear(home, TranscriptChunk)).text == "turn on"  # Said by both partial transcripts.
    assert (await hear(home, TranscriptChunk)).text == " the light"
    assert await hear(home, Transcript) == Transcript("turn on the light", language="en")
    await hear(home, TranscriptStop)


async def test_languages_are_those_of_the_settings(client: vivavoce.Client, service: FakeService) -> None:
    settings = Settings(variants={"asr": "whisper"}, languages=("de", "en"))
    async with WyomingServer(client, settings).listening(("127.0.0.1", 0)) as uri, AsyncTcpClient.from_uri(uri) as home:
        await say(home, Describe())
        described = await hear(home, Info)
        assert (described.asr[0].models[0].languages, described.tts[0].voices[0].languages) == (["de", "en"],) * 2
        assert described.intent[0].models[0].languages == ["en"]
        await speak(home, request=Transcribe(language="de_DE"))
        assert (await hear(home, TranscriptStart)).language == "de_DE"
        await hear_all(home, TranscriptChunk)
        await hear(home, TranscriptChunk)
        assert (await hear(home, Transcript)).language == "en", "what was spoken, whatever was asked for"
        await hear(home, TranscriptStop)
        await say(home, Synthesize("eins", voice=SynthesizeVoice(language="de")))
        await hear_all(home, AudioStop)
    assert (service.config().language_code, dict(service.config().variants)) == ("de_DE", {"asr": "whisper"})
    assert [request.language_code for request in service.said] == ["de"]


async def test_chunks_arrive_while_audio_is_still_being_sent(home: AsyncTcpClient) -> None:
    await say(home, Transcribe(), AudioStart(rate=16_000, width=2, channels=1), chunk())
    await hear(home, TranscriptStart)
    await hear(home, TranscriptChunk)

    await say(home, chunk(), AudioStop())

    assert (await hear_all(home, TranscriptStop))[-2] == "transcript"


async def test_the_whole_stream_is_one_utterance(service: FakeService, home: AsyncTcpClient) -> None:
    await speak(home)
    await hear_all(home, TranscriptStop)

    assert service.config().endpointing.disabled
    assert service.config().interim_results


async def test_names_and_terms_become_hints(service: FakeService, home: AsyncTcpClient) -> None:
    await speak(home, request=Transcribe(transcript_names=["Grotte"], transcript_terms=["dimmer", "blinds"]))
    await hear_all(home, TranscriptStop)

    names, terms = service.config().phrase_hints
    assert (list(names.phrases), list(terms.phrases)) == (["Grotte"], ["dimmer", "blinds"])
    assert names.boost > terms.boost > 0


async def test_hints_hold_for_one_stream_only(service: FakeService, home: AsyncTcpClient) -> None:
    await speak(home, request=Transcribe(transcript_names=["Grotte"]))
    await hear_all(home, TranscriptStop)
    await say(home, AudioStart(rate=16_000, width=2, channels=1), chunk(), AudioStop())
    await hear_all(home, TranscriptStop)

    second = [request.config for request in service.received if request.HasField("config")][1]
    assert not second.phrase_hints


async def test_one_connection_carries_many_streams(service: FakeService, home: AsyncTcpClient) -> None:
    for _ in range(3):
        await speak(home)
        await hear_all(home, TranscriptStop)

    assert service.conversations == 3


async def test_a_chunk_may_begin_a_stream(home: AsyncTcpClient) -> None:
    await say(home, chunk(), AudioStop())

    assert "transcript" in await hear_all(home, TranscriptStop)


async def test_silence_has_an_empty_transcript(service: FakeService, home: AsyncTcpClient) -> None:
    def silent(requests: Iterator[pb.ConverseRequest], _: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from (pb.ConverseResponse(started=pb.Started()) for request in requests if request.HasField("config"))

    service.script = silent
    await speak(home)

    await hear(home, TranscriptStart)
    assert (await hear(home, Transcript)).text == ""
    await hear(home, TranscriptStop)


async def test_what_is_left_of_an_utterance_whose_recognition_failed_is_no_transcript(
    service: FakeService, home: AsyncTcpClient
) -> None:
    def broken(requests: Iterator[pb.ConverseRequest], _: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from (pb.ConverseResponse(started=pb.Started()) for request in requests if request.HasField("config"))
        failed = pb.Notice(code=pb.NOTICE_CODE_STAGE_FAILED, message="asr failed: out of order", turn=1)
        yield pb.ConverseResponse(notice=failed)
        yield pb.ConverseResponse(transcript=pb.Transcript(turn=1, text="And ruin, please.", is_final=True))

    service.script = broken
    await speak(home)

    await hear(home, TranscriptStart)
    error = await hear(home, Error)
    assert (error.code, error.text) == ("stage-failed", "asr failed: out of order")


async def test_a_stream_without_samples_has_an_empty_transcript(home: AsyncTcpClient) -> None:
    await speak(home, chunk(b""))

    await hear(home, TranscriptStart)
    assert (await hear(home, Transcript)).text == ""


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 48_000])
async def test_usual_rates_reach_the_service_as_they_are(service: FakeService, home: AsyncTcpClient, rate: int) -> None:
    samples = np.arange(rate // 10, dtype="<i2")

    await speak(home, chunk(samples.tobytes(), rate=rate))
    await hear_all(home, TranscriptStop)

    assert service.config().audio.sample_rate_hz == rate
    assert service.audio() == samples.tobytes()


@pytest.mark.parametrize("rate", [4_000, 96_000])
async def test_other_rates_are_converted(service: FakeService, home: AsyncTcpClient, rate: int) -> None:
    seconds = np.arange(rate) / rate
    tone = (10_000 * np.sin(2 * np.pi * 440 * seconds)).astype("<i2")

    await speak(home, *(chunk(part.tobytes(), rate=rate) for part in np.array_split(tone, 7)))
    await hear_all(home, TranscriptStop)

    assert service.config().audio.sample_rate_hz == 16_000
    received = np.frombuffer(service.audio(), "<i2")
    assert received.size == pytest.approx(16_000, abs=2)
    spectrum = np.abs(np.fft.rfft(received))
    assert np.argmax(spectrum) == 440
