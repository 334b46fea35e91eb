"""The client without asyncio, with the real models."""

from __future__ import annotations

import threading

import vivavoce
from demo.manifest import FOLDER
from tests.fast_service import SPEED

RECORDING = FOLDER / "recordings" / "lights.flac"


def test_recordings_and_questions_from_several_threads(fast_address: str):
    recording = vivavoce.read_audio(RECORDING.read_bytes())
    told: list[vivavoce.Event] = []

    with vivavoce.sync.connect(fast_address) as client:

        def speak() -> None:
            speech = vivavoce.sync.pace(recording.chunks(), SPEED * recording.sample_rate_hz)
            told.extend(client.converse(speech, audio=recording.format, reply_budget_seconds=30))

        speaker = threading.Thread(target=speak)
        speaker.start()
        with client.converse(audio=None, reply_budget_seconds=30) as conversation:
            conversation.send(vivavoce.TypedTurn("turn off the lights", "typed"))
            typed = next(event for event in conversation if isinstance(event, vivavoce.Reply))
        speaker.join()

    assert (typed.request_id, typed.transcript) == ("typed", "turn off the lights")
    [spoken] = [event for event in told if isinstance(event, vivavoce.Reply)]
    assert spoken.intent is not None
    assert typed.intent is not None
    assert spoken.client_latency_seconds is not None


def test_push_to_talk(server_address: str):
    recording = vivavoce.read_audio(RECORDING)
    endpointing = vivavoce.Endpointing(disabled=True)
    with (
        vivavoce.sync.connect(server_address) as client,
        client.converse(audio=recording.format, endpointing=endpointing, reply_budget_seconds=30) as conversation,
    ):
        for name in ("one", "two"):
            for chunk in recording.chunks():
                conversation.send(chunk)
            conversation.send(vivavoce.EndOfUtterance(name))
            reply = next(event for event in conversation if isinstance(event, vivavoce.Reply))
            assert reply.request_id == name
            assert reply.client_latency_seconds is not None
