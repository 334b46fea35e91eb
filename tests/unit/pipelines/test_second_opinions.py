"""A second recognizer that reads each utterance again, with fake models and a clock that jumps."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.messages import Message, Reply, SpeechEnded, SpeechPaused, Transcript
from pipelines.data.recognition import RecognitionOptions
from pipelines.load.workload import Workload
from pipelines.models.contracts import ASR
from pipelines.models.languages import Languages
from pipelines.session.config import ConversationConfig, ConversationUpdate
from pipelines.session.conversation import Conversation
from pipelines.turns.observer import TurnObserver
from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice

if TYPE_CHECKING:
    from pipelines.models.ports import TurnModels

RATE = 16_000
BUDGET_SECONDS = 0.3
ONE_TURN = ((0.3, ""), (2.0, "speech"), (1.5, ""))
TWO_HALVES = ((0.3, ""), (2.0, "speech"), (0.3, ""), (2.0, "speech"), (1.5, ""))
"""The pause between them is judged, and is too short for the end."""


@dataclass
class TwoRecognizers(FakeModels):
    """Says "first" by the recognizer without a name and "second" by the one called heavy."""

    words: str = "first"
    heavy: FakeModels = field(default_factory=lambda: FakeModels(words="second"))

    def get(self, role: str, variant: str | None = None) -> FakeModels:
        return self.heavy if (role, variant) == (ASR, "heavy") else self


class Observer(TurnObserver):
    def __init__(self) -> None:
        self.ran_stages: list[str] = []
        self.failed_stages: list[str] = []

    def ran(self, conversation: str, turn: int, stage: str, *_: object) -> None:
        self.ran_stages.append(stage)

    def failed(self, conversation: str, turn: int, stage: str, *_: object) -> None:
        self.failed_stages.append(stage)


async def hold(
    models: TwoRecognizers,
    *script: tuple[float, str],
    workload: Workload | None = None,
    updates: dict[float, ConversationUpdate] | None = None,
    closes_after: float | None = None,
    chosen: str = "heavy",
    recognition: RecognitionOptions | None = None,
    is_bulk: bool = False,
    **turns: object,
) -> list[tuple[float, Message]]:
    """Speaks a script of seconds of speech or silence; returns what came, and when."""
    loop, came = asyncio.get_running_loop(), []
    config = ConversationConfig(
        AudioFormat(Encoding.LINEAR_PCM, RATE),
        TurnSettings(budget_seconds=BUDGET_SECONDS, **turns),
        second_opinion=chosen,
        recognition=recognition or RecognitionOptions(),
        is_bulk=is_bulk,
    )
    voice = ScriptedVoice(*((seconds, 1.0 if said else 0.0) for seconds, said in script))
    conversation = Conversation(config, models, voice, workload)

    async def listen() -> None:
        came.extend([(loop.time(), message) async for message in conversation.outbox])

    listener = asyncio.create_task(listen())
    began = loop.time()
    for number in range(round(10 * sum(seconds for seconds, _ in script))):
        at = 0.1 * (number + 1)
        await asyncio.sleep(max(0.0, began + at - loop.time()))
        if closes_after is not None and at > closes_after:
            break
        for due in [due for due in updates or {} if due <= at]:
            conversation.update(updates.pop(due))
        await conversation.add_audio(np.zeros(RATE // 10, "<i2").tobytes())
    if closes_after is None:
        await conversation.half_close()
    else:
        conversation.abandon()
    await listener
    await conversation.close()
    assert models.turns_begun == models.turns_released
    assert models.open_sequences == models.heavy.open_sequences == []
    return came


def finals(came: list[tuple[float, Message]]) -> list[str]:
    return [message.text for _, message in came if isinstance(message, Transcript) and message.is_final]


def reply_seconds(came: list[tuple[float, Message]]) -> float:
    (ended,) = [at for at, message in came if isinstance(message, SpeechEnded)]
    return next(at for at, message in came if isinstance(message, Reply)) - ended


@pytest.mark.parametrize(
    ("seconds", "text", "most_seconds"),
    [
        (0.1, "second", 0.001),  # there while the pause lasts
        (0.5, "second", BUDGET_SECONDS / 2 + 0.05),  # after the end, in the first half of the budget
        (3.0, "first", BUDGET_SECONDS / 2 + 0.001),  # late: the first text stands, and what was made of it
    ],
)
def test_the_second_text_counts_if_it_is_in_time(seconds: float, text: str, most_seconds: float):
    models = TwoRecognizers(judgements=[0.99])
    models.heavy.recognition_seconds = seconds
    came = virtual_time.run(hold(models, *ONE_TURN))
    assert finals(came) == [text]
    (reply,) = [message for _, message in came if isinstance(message, Reply)]
    assert (reply.transcript, reply.status.value) == (text, "COMPLETE")
    assert reply_seconds(came) <= most_seconds
    assert models.understood[-1] == text


def test_what_would_be_late_again_is_not_waited_for():
    models = TwoRecognizers(judgements=[0.99])
    models.heavy.recognition_seconds = 1.2
    script = ((0.3, ""), *((2.0, "speech"), (2.5, "")) * 2)
    came = virtual_time.run(hold(models, *script))
    ended = [at for at, message in came if isinstance(message, SpeechEnded)]
    replied = [at for at, message in came if isinstance(message, Reply)]
    waits = [reply - end for end, reply in zip(ended, replied, strict=True)]
    assert waits == pytest.approx([BUDGET_SECONDS / 2, 0], abs=0.001)
    assert finals(came) == ["first", "first"]


def test_it_reads_the_whole_utterance_and_the_caller_is_told_in_the_pause():
    models = TwoRecognizers(judgements=[0.3])
    endpointing = EndpointingConfig(mode=EndpointingMode.MODEL)
    came = virtual_time.run(hold(models, *ONE_TURN, endpointing=endpointing))
    (first,), (second,) = models.sequences, models.heavy.sequences
    assert (second.samples, second.requests) == (first.samples, 1)
    assert [message.text for _, message in came if isinstance(message, SpeechPaused)][-1] == "second"


def test_speech_that_goes_on_makes_an_opinion_useless():
    models = TwoRecognizers()
    models.heavy.recognition_seconds = 0.3
    came = virtual_time.run(hold(models, *TWO_HALVES))
    assert finals(came) == ["second"]
    first, last = models.heavy.sequences
    assert first.samples < last.samples == models.sequences[0].samples
    assert all("second" not in message.text for at, message in came if isinstance(message, Transcript) and at < 4.0)


def test_a_reading_that_nobody_waits_for_is_not_begun():
    models = TwoRecognizers()
    models.heavy.recognition_seconds = 5.0
    halves = ((0.3, ""), *((1.0, "speech"), (0.3, "")) * 4, (1.0, "speech"), (1.5, ""))
    assert finals(virtual_time.run(hold(models, *halves))) == ["first"]
    assert len(models.heavy.sequences) == 1 + 1, "the first pause, and the last one that is free again"


@pytest.mark.parametrize("short", [False, True])
def test_failure_and_overload_cost_nothing_but_the_opinion(short: bool):
    models, observer = TwoRecognizers(), Observer()
    workload = Workload(observer=observer)
    workload.short = short
    models.heavy.fail.add("asr")
    came = virtual_time.run(hold(models, *ONE_TURN, workload=workload))
    assert finals(came) == ["first"]
    assert reply_seconds(came) <= 0.001
    assert observer.failed_stages == ([] if short else ["second_opinion"])
    assert len(models.heavy.sequences) == (0 if short else 1)


def test_its_cost_is_observed():
    observer = Observer()
    virtual_time.run(hold(TwoRecognizers(), *ONE_TURN, workload=Workload(observer=observer)))
    assert observer.ran_stages.count("second_opinion") == 1


@pytest.mark.parametrize(
    ("first", "second", "asked", "reads_in"),
    [
        (("en",), ("auto", "de", "en"), "", "en"),
        (("auto", "de", "en"), ("en", "de"), "de", "de"),
        (("auto", "de"), ("auto", "de"), "", ""),
        (("en", "de"), ("en",), "de", None),
    ],
)
def test_it_reads_in_the_language_of_the_first(first: tuple, second: tuple, asked: str, reads_in: str | None):
    models = TwoRecognizers(languages=Languages(first))
    models.heavy.languages = Languages(second)
    came = virtual_time.run(hold(models, *ONE_TURN, recognition=RecognitionOptions(language=asked)))
    assert [one.options.language for one in models.heavy.sequences] == ([] if reads_in is None else [reads_in])
    assert finals(came) == ["first" if reads_in is None else "second"]
    assert {message.language for _, message in came if isinstance(message, Transcript)} == {
        asked or Languages(first if reads_in is None else second).default or reads_in or ""
    }


def test_long_speech_is_read_part_by_part():
    models = TwoRecognizers()
    came = virtual_time.run(hold(models, (0.3, ""), (14.0, "speech"), (0.4, ""), (40.0, "speech"), (1.5, "")))
    assert set(finals(came)[0].split()) == {"second"}
    assert len(models.heavy.sequences) == len(finals(came)[0].split())
    assert max(one.samples for one in models.heavy.sequences) < 30 * RATE


def test_a_choice_may_change_between_turns():
    models = TwoRecognizers()
    script = ((0.3, ""), *((1.0, "speech"), (1.5, "")) * 3)
    updates = {2.0: ConversationUpdate(second_opinion="heavy"), 4.5: ConversationUpdate(second_opinion="")}
    assert finals(virtual_time.run(hold(models, *script, chosen="", updates=updates))) == ["first", "second", "first"]


@pytest.mark.parametrize("bulk", [True, False])
def test_recordings_are_read_once(bulk: bool):
    models = TwoRecognizers()
    came = virtual_time.run(hold(models, *ONE_TURN, is_bulk=bulk, replies=False))
    assert finals(came) == ["first" if bulk else "second"]


def test_a_conversation_that_ends_waits_for_no_opinion():
    models = TwoRecognizers()
    models.heavy.recognition_seconds = 60.0
    virtual_time.run(hold(models, *ONE_TURN, closes_after=2.7))
    (sequence,) = models.heavy.sequences
    assert sequence.ended


def test_the_first_recognizer_needs_no_opinion_of_its_own():
    models = TwoRecognizers()
    config = ConversationConfig(variants={ASR: "heavy"}, second_opinion="heavy")

    async def second() -> object:
        conversation = Conversation(config, models, None)
        turn: TurnModels = conversation._models.of(1)
        assert turn is models
        return conversation._models.second(1)

    assert virtual_time.run(second()) is None
