"""What understanding tells arrives in the messages, and what is asked of it reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.data.predictions import IntentPrediction, SlotSpan
from pipelines.data.recognition import PhraseHint, Timing
from tests.unit.service.harness import Harness, speaking
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEXT = "turn off the lights at seven and call me a taxi tomorrow"
NOON = 1_795_694_400
"""2026-11-26T12:00:00Z."""


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running


async def predict(text: str, _due: float | None = None) -> IntentPrediction:
    intent = "taxi" if text.startswith("call") else "lights"
    start = text.index("seven") if "seven" in text else text.index("tomorrow")
    span = SlotSpan("time", start, start + len(text[start:].split(maxsplit=1)[0]))
    return IntentPrediction(intent, 0.9, (span,), Timing(0, 0), "command", False, ((intent, 0.9), ("other", 0.05)))


async def test_a_typed_turn_tells_kind_readings_values_and_candidates(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(harness.models, "predict", predict)
    request = pb.AskRequest(text=TEXT, max_intents=2, time_zone="Europe/Berlin", current_time={"seconds": NOON})
    reply = (await harness.stub.Ask(request)).reply
    assert (reply.intent.name, reply.intent.kind) == ("lights", reply_pb2.UTTERANCE_KIND_COMMAND)
    assert not reply.intent.negated
    assert [one.name for one in reply.intent.candidates] == ["lights", "other"]
    assert [(part.intent.name, TEXT[part.start : part.end]) for part in reply.readings] == [
        ("lights", "turn off the lights at seven"),
        ("taxi", "call me a taxi tomorrow"),
    ]
    assert [slot.text for part in reply.readings for slot in part.slots] == ["seven", "tomorrow"]
    (tomorrow,) = reply.readings[1].slots
    assert (tomorrow.resolved.kind, tomorrow.resolved.value) == (reply_pb2.VALUE_KIND_DATE, "2026-11-27")
    values = [(value.kind, value.value, value.alternative, value.text) for value in reply.values]
    assert values == [
        (reply_pb2.VALUE_KIND_TIME, "07:00", "19:00", "seven"),
        (reply_pb2.VALUE_KIND_DATE, "2026-11-27", "", "tomorrow"),
    ]


async def test_a_conversation_follows_the_clock_and_zone_of_its_config(harness: Harness):
    config = pb.ConversationConfig(time_zone="Asia/Tokyo", current_time={"seconds": NOON})
    said = "wake me at seven pm tomorrow"
    responses = await harness.converse([pb.ConverseRequest(config=config), pb.ConverseRequest(text=said)])
    (reply,) = [response.reply for response in responses if response.HasField("reply")]
    assert [value.value for value in reply.values] == ["2026-11-27T19:00:00+09:00"]
    assert reply.intent.kind == reply_pb2.UTTERANCE_KIND_UNSPECIFIED


async def spoken_with(harness: Harness, **fields: object) -> tuple[PhraseHint, ...]:
    audio = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
    config = pb.ConversationConfig(audio=audio, phrase_hints=[pb.PhraseHints(phrases=["mocha"])], **fields)
    await harness.converse([pb.ConverseRequest(config=config), *speaking(1)])
    return harness.models.sequences[-1].options.hints


async def test_recognition_has_the_hints_of_the_engine(harness: Harness):
    harness.models.hints = (PhraseHint("latte"),)
    assert await spoken_with(harness) == (PhraseHint("mocha"), PhraseHint("latte"))


async def test_callers_may_do_without_the_hints_of_the_engine(harness: Harness):
    harness.models.hints = (PhraseHint("latte"),)
    assert await spoken_with(harness, ignore_engine_hints=True) == (PhraseHint("mocha"),)
