"""A conversation that is answered aloud, with the real models: what is said over the answer, and what becomes of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

import vivavoce
from demo.manifest import FOLDER, utterances
from tests.fast_service import SPEED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from numpy.typing import NDArray

RATE = 16_000
CHUNK = 800
PATIENT_SECONDS = 2.0 * SPEED
QUESTION = "What did the two men do on the Moon?"
DOCUMENT = (
    "After their landing the two men on the Moon planted a flag, set up scientific instruments, took many photographs "
    "and collected 21.5 kilograms of rock and soil."
)
SHORT = f"Two men planted a flag. {DOCUMENT.replace('planted a flag, ', '')}"
"""Says the answer in a second."""


@pytest.fixture
async def client(fast_address: str) -> AsyncIterator[vivavoce.Client]:
    async with vivavoce.connect(fast_address) as connected:
        yield connected


async def over_the_answer(client: vivavoce.Client, clip: NDArray[np.float32]) -> list[vivavoce.Event]:
    """Says a clip a second after the answer began; returns what happened until that was replied to, too."""
    begun, is_over, came = asyncio.Event(), asyncio.Event(), []

    async def said() -> AsyncIterator[vivavoce.Utterable]:
        loop = asyncio.get_running_loop()
        yield vivavoce.TypedTurn(QUESTION)
        await begun.wait()
        room = np.random.default_rng(1).normal(0.0, 0.0003, RATE * 20 + len(clip))
        room[RATE : RATE + len(clip)] += clip
        began, at = loop.time(), 0
        while not is_over.is_set():
            at += CHUNK
            await asyncio.sleep(max(0.0, began + at / RATE / SPEED - loop.time()))
            yield np.asarray(room[at - CHUNK : at], np.float32)

    voice = vivavoce.ReplyVoice(vivavoce.AudioFormat(sample_rate_hz=RATE))
    async with asyncio.timeout(40):
        async for event in client.converse(
            said(), documents=[DOCUMENT], reply_audio=voice, reply_budget_seconds=PATIENT_SECONDS
        ):
            came.append(event)
            if isinstance(event, vivavoce.ReplyAudio):
                begun.set()
            if isinstance(event, vivavoce.Reply) and event.turn == 2:
                is_over.set()
    return came


def of(events: list[vivavoce.Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


async def test_questions_are_answered_aloud_however_small_the_budget_is(client: vivavoce.Client) -> None:
    count = 10
    answered: asyncio.Queue[None] = asyncio.Queue()

    async def said() -> AsyncIterator[vivavoce.Utterable]:
        for number in range(count):
            yield vivavoce.TypedTurn(f"Who planted a flag? Question {number}")
            await answered.get()

    events = []
    conversation = client.converse(
        said(), documents=[SHORT], reply_audio=vivavoce.ReplyVoice(), reply_budget_seconds=0.02
    )
    async with asyncio.timeout(120):
        async for event in conversation:
            events.append(event)
            if isinstance(event, vivavoce.ReplyAudio) and event.is_last:
                answered.put_nowait(None)
    whole = [reply for reply in of(events, vivavoce.Reply) if reply.status is not vivavoce.ReplyStatus.PARTIAL]
    assert [(reply.turn, reply.status.value) for reply in whole] == [(turn, "COMPLETE") for turn in range(1, count + 1)]
    assert all(reply.speech_text and reply.answer for reply in whole)
    assert any(reply.completes for reply in whole), "nothing was late"
    assert {piece.turn for piece in of(events, vivavoce.ReplyAudio)} == set(range(1, count + 1))


async def test_a_question_is_answered_aloud_and_the_answer_is_understood(client: vivavoce.Client) -> None:
    museum = next(one for one in utterances() if "museum_family" in one.file)
    recording = vivavoce.read_audio(museum.path)
    speech = vivavoce.pace(recording.chunks(), SPEED * recording.sample_rate_hz)
    voice = vivavoce.ReplyVoice(vivavoce.AudioFormat(sample_rate_hz=RATE))
    events = [
        event
        async for event in client.converse(
            speech,
            audio=recording.format,
            documents=museum.documents(),
            reply_audio=voice,
            reply_budget_seconds=PATIENT_SECONDS,
        )
    ]
    (reply,) = of(events, vivavoce.Reply)
    assert reply.speech_text == "A family ticket costs eighteen euros."
    pieces = of(events, vivavoce.ReplyAudio)
    assert 0.1 < pieces[0].first_audio_seconds < 5 * SPEED
    assert pieces[-1].is_last
    audio = b"".join(piece.audio for piece in pieces)
    chunks = [audio[start : start + 8_000] for start in range(0, len(audio), 8_000)]
    heard = [event async for event in client.converse(chunks, audio=voice.audio)]
    assert "family ticket costs" in of(heard, vivavoce.Transcript)[-1].text


async def test_a_backchannel_lets_the_answer_go_on(client: vivavoce.Client) -> None:
    pieces = [chunk.audio async for chunk in client.say("Okay.", audio=vivavoce.AudioFormat())]
    clip = np.frombuffer(b"".join(pieces), "<i2").astype(np.float32) / 32_768
    events = await over_the_answer(client, clip)
    assert of(events, vivavoce.Interrupted) == []
    answer, other = of(events, vivavoce.Reply)
    assert answer.speech_text
    assert other.speech_text == ""
    assert [piece.is_last for piece in of(events, vivavoce.ReplyAudio) if piece.turn == 1][-1]


async def test_a_command_interrupts_the_answer(client: vivavoce.Client) -> None:
    clip, _ = soundfile.read(FOLDER / "recordings" / "lights.flac", dtype="float32")
    events = await over_the_answer(client, clip)
    (told,) = of(events, vivavoce.Interrupted)
    assert (told.turn, told.reason) == (1, vivavoce.InterruptionReason.SPEECH)
    assert 0.5 < told.heard_seconds < 6
    answer = of(events, vivavoce.Reply)[0]
    assert told.heard_text
    assert answer.speech_text.startswith(told.heard_text)
    assert "lights" in of(events, vivavoce.Reply)[1].transcript
