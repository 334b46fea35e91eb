"""Several wishes in one utterance, values by the caller's clock, and what engines of before leave out."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from pipelines.data.predictions import IntentPrediction, SlotSpan
from pipelines.data.recognition import PhraseHint, RecognitionOptions, Timing
from pipelines.data.understanding import UnderstandingOptions
from pipelines.data.values import CallerClock, ValueKind
from pipelines.models.phrase_hints import MAX_PHRASES, with_hints
from pipelines.stages.understanding import understand
from pipelines.text.clauses import MAX_CLAUSES, split_clauses
from pipelines.text.values import read_clock

if TYPE_CHECKING:
    from collections.abc import Mapping

NOON = dt.datetime(2026, 11, 26, 12, 0, tzinfo=dt.UTC)


class Intents:
    """A model that knows a few words."""

    hints: tuple[PhraseHint, ...] = ()
    words: Mapping[str, str] = {
        "remind": "remind",
        "lights": "light",
        "taxi": "taxi",
        "music": "play",
        "alarm": "alarm",
    }

    def __init__(self, *, slots: Mapping[str, str] | None = None, unsure: str = "") -> None:
        self._slots = slots or {"kitchen": "place", "at seven": "time", "tomorrow": "date"}
        self._unsure = unsure
        self.asked: list[str] = []

    async def predict(self, text: str, _due: float | None = None) -> IntentPrediction:
        self.asked.append(text)
        intent = next((intent for word, intent in self.words.items() if word in text.lower()), "none")
        confidence = 0.3 if self._unsure and self._unsure in text else 0.9
        negated = "don't" in text.lower()
        spans = tuple(
            SlotSpan(name, text.index(words), text.index(words) + len(words))
            for words, name in self._slots.items()
            if words in text
        )
        kept = "none" if negated else intent
        candidates = ((intent, confidence), ("other", 0.1))
        return IntentPrediction(kept, confidence, spans, Timing(0, 0), "command", negated, candidates)


async def test_two_wishes_have_each_their_intent_and_slots():
    text = "Turn off the kitchen lights and call me a taxi at seven."
    found = await understand(Intents(), text)
    told = [(r.intent, [slot.text for slot in r.slots], text[r.start : r.end]) for r in found.readings]
    assert told == [
        ("light", ["kitchen"], "Turn off the kitchen lights"),
        ("taxi", ["at seven"], "call me a taxi at seven."),
    ]
    assert all(text[slot.start : slot.end] == slot.text for reading in found.readings for slot in reading.slots)


async def test_a_wish_that_is_not_wanted_is_one_of_them():
    found = await understand(Intents(), "don't turn on the lights and play some music")
    assert [(r.intent, r.negated) for r in found.readings] == [("none", True), ("play", False)]


@pytest.mark.parametrize(
    "text",
    [
        "turn off the lights",
        "play rock and roll music",
        "turn off the lights and stop",
        "turn off the lights and let it be",
        "call a taxi and tell them that i am late for the music",
        "turn off the lights, i think they are too bright",
        "turn off the lights, the ones in the kitchen",
    ],
)
async def test_one_wish_has_one_reading(text: str):
    found = await understand(Intents(), text)
    assert [(r.intent, r.start, r.end) for r in found.readings] == [(found.intent, 0, len(text))]


async def test_a_slot_over_the_joint_holds_the_wish_together():
    model = Intents(slots={"buy milk and call a taxi": "event"})
    found = await understand(model, "remind me to buy milk and call a taxi")
    assert [r.intent for r in found.readings] == ["remind"]


async def test_an_unsure_part_is_none_of_its_own():
    found = await understand(Intents(unsure="taxi"), "turn off the lights and call me a taxi")
    assert len(found.readings) == 1


async def test_parts_that_are_joined_again_are_read_as_one():
    model = Intents()
    found = await understand(model, "turn off the lights and go there and call me a taxi")
    assert [r.intent for r in found.readings] == ["light", "taxi"]
    assert "turn off the lights and go there" in model.asked


async def test_a_single_wish_costs_one_request():
    model = Intents()
    await understand(model, "turn off the lights in the kitchen please")
    assert len(model.asked) == 1


def test_clauses_have_an_end():
    text = ", ".join(["turn it off"] * 20)
    clauses = split_clauses(text)
    assert len(clauses) == MAX_CLAUSES
    assert clauses[-1].end == len(text)


async def test_values_follow_the_clock_of_the_caller():
    clock = read_clock("Asia/Tokyo", NOON)
    found = await understand(Intents(), "set an alarm at seven tomorrow", None, UnderstandingOptions(clock))
    assert [(v.kind, v.value) for v in found.values] == [(ValueKind.DATE_TIME, "2026-11-27T07:00:00+09:00")]
    time, date = found.slots
    assert time.resolved is not None
    assert time.resolved.value == "07:00"
    assert date.resolved is not None
    assert date.resolved.value == "2026-11-27"


async def test_candidates_are_told_on_request():
    assert (await understand(Intents(), "turn off the lights")).candidates == ()
    options = UnderstandingOptions(CallerClock(), max_intents=1)
    assert (await understand(Intents(), "don't turn on the lights", None, options)).candidates == (("light", 0.9),)


def test_hints_of_agents_and_engines_stand_behind_those_of_the_caller():
    options = RecognitionOptions(hints=(PhraseHint("latte", 20), PhraseHint("mocha")))
    merged = with_hints(options, ("oat milk", "mocha"), (PhraseHint("latte", 5), PhraseHint("flat white")))
    assert [hint.phrase for hint in merged.hints] == ["latte", "mocha", "oat milk", "flat white"]
    assert merged.hints[0].boost == 20
    assert with_hints(options, (), ()) is options


def test_hints_of_the_engine_fill_what_room_is_left():
    many = tuple(PhraseHint(f"phrase {n}") for n in range(2 * MAX_PHRASES))
    assert len(with_hints(RecognitionOptions(hints=many[:10]), (), many).hints) == MAX_PHRASES
    long = (PhraseHint("x" * 59_990), PhraseHint("y" * 20))
    assert with_hints(RecognitionOptions(), (), long).hints == long[:1]
