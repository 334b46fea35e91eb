"""Dialogs with the real models: an agent that hears the intents of the shipped engine, typed and spoken."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import demo
import vivavoce
from tests.fast_service import SPEED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

RECORDING = Path(demo.__file__).parent / "recordings/lights.flac"
PATIENT_SECONDS = 30.0
"""A budget that a busy machine keeps too: these tests are about what is answered, not about when."""


async def test_a_dialog_goes_on_in_another_stream(server_address: str):
    session = vivavoce.Session("kiosk 7")

    async def said(*texts: str) -> list[vivavoce.Reply]:
        turns = [vivavoce.TypedTurn(text) for text in texts]
        async with vivavoce.connect(server_address) as client:
            events = client.converse(turns, audio=None, agent="lamp", session=session)
            return [event async for event in events if isinstance(event, vivavoce.Reply)]

    assert [reply.speech_text for reply in await said("turn off the lights")] == ["In which room?"]
    replies = await said("in the kitchen", "no, the bedroom", "yes")
    assert [reply.speech_text for reply in replies] == [
        "Lights off in the kitchen?",
        "Lights off in the bedroom?",
        "Done.",
    ]
    assert replies[2].dialog is not None
    assert replies[2].dialog.fulfilments == (vivavoce.Fulfilment(1, "light_off", "light_off", {"place": "bedroom"}),)


async def test_a_spoken_turn_is_answered_aloud(fast_address: str):
    recording = vivavoce.read_audio(RECORDING)
    speech = vivavoce.pace(recording.chunks(), SPEED * recording.sample_rate_hz)
    async with vivavoce.connect(fast_address) as client:
        conversation = client.converse(
            speech,
            audio=recording.format,
            agent="lamp",
            reply_audio=vivavoce.ReplyVoice(),
            reply_budget_seconds=PATIENT_SECONDS,
        )
        events = [event async for event in conversation]
    greeting, reply = (event for event in events if isinstance(event, vivavoce.Reply))
    assert greeting.speech_text == "Hello."
    assert reply.speech_text == "Lights off in the bedroom?"
    assert reply.dialog is not None
    assert reply.dialog.confirming
    assert sum(len(event.audio) for event in events if isinstance(event, vivavoce.ReplyAudio)) > 24_000


async def test_keys_in_the_audio_answer(fast_address: str):
    asked, answered = asyncio.Event(), asyncio.Event()
    times = np.arange(4_000) / 16_000
    tone = 0.2 * (np.sin(2 * np.pi * 697 * times) + np.sin(2 * np.pi * 1336 * times))
    silence = np.zeros(1_600, np.float32)

    async def said() -> AsyncIterator[vivavoce.Utterable]:
        yield vivavoce.TypedTurn("turn off the lights")
        await asked.wait()
        yield np.asarray(tone, np.float32)
        while not answered.is_set():
            yield silence
            await asyncio.sleep(0.1 / SPEED)

    replies = []
    async with asyncio.timeout(60), vivavoce.connect(fast_address) as client:
        conversation = client.converse(
            said(),
            audio=vivavoce.AudioFormat(sample_rate_hz=16_000),
            agent="lamp",
            reply_budget_seconds=PATIENT_SECONDS,
        )
        async for event in conversation:
            if isinstance(event, vivavoce.Reply):
                replies.append(event)
                (answered if len(replies) > 1 else asked).set()
    assert [reply.speech_text for reply in replies] == ["In which room?", "Lights off in the kitchen?"]
    assert replies[1].dialog is not None
    assert replies[1].dialog.cause is vivavoce.DialogCause.KEYS
    assert [reply.transcript for reply in replies] == ["turn off the lights", ""], "nothing is recognized in a tone"
