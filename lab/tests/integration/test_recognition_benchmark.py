"""The contenders that are always installed, on a real recording."""

from __future__ import annotations

import pytest

from benchmarks.recognition.material import demonstration
from benchmarks.recognition.systems import MoonshineVoice, OurEngine, System
from pipelines.vad.voice_activity import SileroModel

UTTERANCES = [recording.utterances[0] for recording in demonstration(SileroModel())[1:4]]
TEXTS = [
    "What will the weather be like in Berlin on Saturday?",
    "Turn off the lights in the bedroom, please.",
    "I want to listen to some jazz music.",
]


@pytest.mark.parametrize(
    "make",
    [
        lambda: OurEngine(threads=2, engines=1),
        lambda: OurEngine(threads=1, engines=2),
        lambda: MoonshineVoice(transcribers=1, vad=False),
        lambda: MoonshineVoice(transcribers=2, vad=False),
    ],
    ids=["ours", "two of ours", "moonshine-voice", "two of moonshine-voice"],
)
def test_texts_come_back_in_order(make) -> None:
    system: System = make()
    try:
        assert system.transcribe(UTTERANCES) == TEXTS
    finally:
        system.close()
