"""`vivavoce wyoming` before the real service: recordings, texts and wrong turns through Home Assistant's protocol."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import soundfile
from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info
from wyoming.intent import Intent, NotRecognized, Recognize
from wyoming.tts import Synthesize

from demo.manifest import utterances
from service.processes.child_process import listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from wyoming.event import Event

    from tests.integration.conftest import Triton

CHUNK_FRAMES = 1_024
"""What Home Assistant sends at a time."""
PATIENCE_SECONDS = 30
BY_NAME = {utterance.path.stem: utterance for utterance in utterances()}
MUSEUM = BY_NAME["museum_boat"]


@pytest.fixture(scope="module")
def wyoming_uri(server_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("wyoming")
    document = folder / "museum.txt"
    document.write_text(MUSEUM.documents()[0].text, "utf-8")
    arguments = ["-m", "vivavoce", "wyoming", "--uri", "tcp://127.0.0.1:0", "--server", server_address]
    with listening([*arguments, "--context-file", str(document), "--budget-ms", "30000"], folder / "log.txt") as (
        _,
        uri,
    ):
        yield uri


@pytest.fixture
async def home(wyoming_uri: str) -> AsyncIterator[AsyncTcpClient]:
    async with AsyncTcpClient.from_uri(wyoming_uri, read_timeout=PATIENCE_SECONDS) as home:
        yield home


async def _ask(home: AsyncTcpClient, request: Recognize | Transcript) -> Event:
    await home.write_event(request.event())
    event = await home.read_event()
    assert event is not None
    return event


async def _types(home: AsyncTcpClient) -> list[str]:
    """Reads up to where the server hangs up; returns the types of the events."""
    types = []
    while (event := await home.read_event()) is not None:
        types.append(event.type)
    return types


async def _speak(home: AsyncTcpClient, name: str, width: int = 2, *, paced: bool = False, language: str = "en") -> None:
    """Says a recording as Home Assistant does, after which only reading is left."""
    samples, rate = soundfile.read(BY_NAME[name].path, dtype="int16" if width == 2 else "int32")
    audio = {"rate": rate, "width": width, "channels": 1}
    await home.write_event(Transcribe(language=language).event())
    await home.write_event(AudioStart(**audio).event())
    for begin in range(0, len(samples), CHUNK_FRAMES):
        chunk = AudioChunk(**audio, audio=samples[begin : begin + CHUNK_FRAMES].tobytes())
        await home.write_event(chunk.event())
        await asyncio.sleep(CHUNK_FRAMES / rate if paced else 0)
    await home.write_event(AudioStop().event())


async def _transcript(home: AsyncTcpClient) -> tuple[str, list[str]]:
    """Reads the events of one stream, and returns the transcript and the chunks before it."""
    events = []
    while not events or not TranscriptStop.is_type(events[-1].type):
        event = await home.read_event()
        assert event is not None
        events.append(event)
    assert TranscriptStart.is_type(events[0].type)
    chunks = [TranscriptChunk.from_event(event).text for event in events if TranscriptChunk.is_type(event.type)]
    return Transcript.from_event(events[-2]).text, chunks


async def test_what_is_spoken_is_heard(home: AsyncTcpClient) -> None:
    await home.write_event(Synthesize("Turn off the lights in the bedroom, please.").event())
    chunks = []
    while (event := await home.read_event()) is not None and not AudioStop.is_type(event.type):
        if AudioChunk.is_type(event.type):
            chunks.append(AudioChunk.from_event(event))
    audio = {"rate": chunks[0].rate, "width": 2, "channels": 1}
    await home.write_event(Transcribe(language="en").event())
    await home.write_event(AudioStart(**audio).event())
    for chunk in chunks:
        await home.write_event(chunk.event())
    await home.write_event(AudioStop().event())
    text, _ = await _transcript(home)
    assert "lights in the bedroom" in text.lower()


async def test_the_server_is_described(home: AsyncTcpClient) -> None:
    await home.write_event(Describe().event())
    event = await home.read_event()

    assert event is not None
    info = Info.from_event(event)
    assert info.asr[0].supports_transcript_streaming
    assert info.intent
    assert info.handle


async def test_speech_is_transcribed_while_it_is_spoken(home: AsyncTcpClient) -> None:
    await _speak(home, "lights", paced=True)

    text, chunks = await _transcript(home)

    assert text.lower().startswith("turn off the lights in the bedroom")
    assert len(chunks) > 1
    assert len("".join(chunks).split()) == len(text.split())


@pytest.mark.parametrize("width", [2, 4])
async def test_speech_sent_at_once_is_transcribed_too(home: AsyncTcpClient, width: int) -> None:
    await _speak(home, "museum_boat", width)

    text, _ = await _transcript(home)

    assert text.lower().startswith("when was the cargo boat built")


async def test_intents_come_with_their_slots(home: AsyncTcpClient) -> None:
    event = await _ask(home, Recognize("turn off the lights in the bedroom please"))

    intent = Intent.from_event(event)
    assert Intent.is_type(event.type)
    assert intent.name == "iot_hue_lightoff"
    assert ("house_place", "bedroom") in [(entity.name, entity.value) for entity in intent.entities]


async def test_questions_are_handled_from_the_context_file(home: AsyncTcpClient) -> None:
    event = await _ask(home, Transcript("when was the cargo boat built"))

    assert Handled.is_type(event.type)
    assert Handled.from_event(event).text == MUSEUM.answer


async def test_commands_are_handled_with_what_was_understood(home: AsyncTcpClient) -> None:
    event = await _ask(home, Transcript("turn off the lights in the bedroom please"))

    assert Handled.is_type(event.type)
    assert "bedroom" in str(Handled.from_event(event).text)


async def test_what_nobody_knows_is_neither_recognized_nor_handled(home: AsyncTcpClient) -> None:
    question = "where did the lunar module touch down"

    assert NotRecognized.is_type((await _ask(home, Recognize(question))).type)
    assert NotHandled.is_type((await _ask(home, Transcript(question))).type)


async def test_a_spoken_question_is_answered_as_home_assistant_does_it(wyoming_uri: str) -> None:
    async with AsyncTcpClient.from_uri(wyoming_uri, read_timeout=PATIENCE_SECONDS) as speech_to_text:
        await _speak(speech_to_text, "museum_boat")
        text, _ = await _transcript(speech_to_text)
    async with AsyncTcpClient.from_uri(wyoming_uri, read_timeout=PATIENCE_SECONDS) as conversation:
        event = await _ask(conversation, Transcript(text, language="en", context={"conversation_id": "c-1"}))

    assert Handled.from_event(event).text == MUSEUM.answer


async def test_another_language_is_refused_without_keeping_home_assistant_waiting(wyoming_uri: str) -> None:
    async with AsyncTcpClient.from_uri(wyoming_uri, read_timeout=PATIENCE_SECONDS) as speech_to_text:
        await _speak(speech_to_text, "lights", language="de")
        assert await _types(speech_to_text) == ["error"]
    async with AsyncTcpClient.from_uri(wyoming_uri, read_timeout=PATIENCE_SECONDS) as conversation:
        await conversation.write_event(Transcript("mach das Licht aus", language="de").event())
        assert await _types(conversation) == ["error", "not-handled"]


async def test_clients_that_vanish_leave_no_sequence_open(wyoming_uri: str, triton: Triton) -> None:
    for _ in range(10):
        async with AsyncTcpClient.from_uri(wyoming_uri) as home:
            samples, rate = soundfile.read(BY_NAME["lights"].path, dtype="int16")
            chunk = AudioChunk(rate=rate, width=2, channels=1, audio=samples.tobytes())
            await home.write_event(chunk.event())

    async with asyncio.timeout(PATIENCE_SECONDS):
        while await asyncio.to_thread(triton.open_sequences):
            await asyncio.sleep(0.05)
