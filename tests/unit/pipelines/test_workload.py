"""What conversations owe one another: their share of a machine that is short of time, and no work for nothing."""

import asyncio
import collections
from collections.abc import Sequence

import numpy as np
import pytest

from pipelines.data.answers import Document
from pipelines.data.messages import Reply, Status
from pipelines.data.predictions import AnswerSpan, IntentPrediction
from pipelines.data.recognition import Timing
from pipelines.errors import ModelError
from pipelines.load.pacing import LEAD_SECONDS, Lead
from pipelines.load.utilization import Utilization, utilization
from pipelines.load.workload import Workload
from pipelines.session import calibration
from pipelines.session.calibration import (
    MEASURED_SECONDS,
    SPEAKERS,
    UTTERANCE_SECONDS,
    measure_alone,
    measure_throughput,
)
from pipelines.session.conversation import Conversation, ConversationConfig
from pipelines.turns.deadlines import speculation_seconds
from pipelines.turns.effects import SpeculationFate
from pipelines.turns.observer import TurnObserver
from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from tests import virtual_time
from tests.unit.pipelines.driver import BOTH
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice

TENTH = np.zeros(1600, np.float32)
SETTINGS = TurnSettings(stages=BOTH)


def test_a_stream_at_the_pace_of_speech_is_never_ahead():
    lead, now = Lead(), 0.0
    for _ in range(36_000):
        now += 0.1
        lead.drain(1.0, now)
        lead.add(0.1)
    assert lead.wait_seconds(1.0) == 0


def test_silence_saves_nothing_up():
    lead = Lead()
    lead.drain(1.0, 0.0)
    lead.drain(1.0, 3600.0)
    lead.add(LEAD_SECONDS + 2)
    assert lead.wait_seconds(1.0) == pytest.approx(2)
    assert lead.wait_seconds(4.0) == pytest.approx(0.5)


def test_who_has_waited_as_long_as_was_said_waits_no_longer():
    lead, now = Lead(), 1e6
    for _ in range(1000):
        lead.drain(3.0, now)
        lead.add(0.512)
        now += lead.wait_seconds(3.0)
        lead.drain(3.0, now)
        assert lead.wait_seconds(3.0) == 0


def test_a_larger_share_is_ahead_for_less_time():
    lead = Lead()
    lead.drain(1.0, 0.0)
    lead.add(LEAD_SECONDS + 12)
    lead.drain(4.0, 2.0)
    assert lead.wait_seconds(4.0) == pytest.approx(1)


def reply(seconds: float, *, status: Status = Status.COMPLETE, speculated: bool = False, **took: float) -> Reply:
    timings = {name: Timing(0.0, cost) for name, cost in took.items()}
    return Reply(1, "", {}, status, (), 100.0 - seconds, speculated, timings)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reply(0.15), 0.5),
        (reply(0.15, asr=0.1, nlu=0.05, qa=0.09), 0.19 / 0.3),
        (reply(0.006, speculated=True, asr=0.2, nlu=0.1), 0.3 / 0.748),
        (reply(0.29, status=Status.PARTIAL), 1.0),
        (reply(0.6), 2.0),
    ],
)
def test_utilization_is_the_part_of_the_time_that_a_reply_needed(found: Reply, expected: float):
    silence = speculation_seconds(SETTINGS)
    assert utilization(found, 100.0, SETTINGS, silence) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reply(0.02), 0.02 / 0.3),
        (reply(0.02, status=Status.PARTIAL), 0.02 / 0.3),
        (reply(0.02, status=Status.PARTIAL, asr=0.24), 0.8),
    ],
)
def test_less_time_than_usual_is_the_callers_wish_and_no_utilization(found: Reply, expected: float):
    settings = TurnSettings(budget_seconds=0.02)
    assert utilization(found, 100.0, settings, 0.0) == pytest.approx(expected, abs=0.001)


def test_more_time_than_usual_counts_as_given():
    settings = TurnSettings(budget_seconds=3.0)
    assert utilization(reply(0.6), 100.0, settings, 0.0) == pytest.approx(0.2)
    assert utilization(reply(0.6, status=Status.PARTIAL), 100.0, settings, 0.0) == 1.0


async def hold(conversation: Conversation, audio: Sequence[np.ndarray], *, pace: float = 0.0) -> list[float]:
    """Says all of it and half-closes; returns when replies came."""
    loop = asyncio.get_running_loop()

    async def listen() -> list[float]:
        return [loop.time() async for message in conversation.outbox if isinstance(message, Reply)]

    listener = asyncio.create_task(listen())
    for piece in audio:
        await conversation.add_samples(piece)
        await asyncio.sleep(pace)
    await conversation.half_close()
    came = await listener
    await conversation.close()
    return came


def conversation(models: FakeModels, workload: Workload, *script: tuple[float, float]) -> Conversation:
    return Conversation(ConversationConfig(turns=SETTINGS), models, ScriptedVoice(*script), workload)


def test_a_file_that_comes_at_once_has_its_share_and_no_more_while_the_machine_is_short():
    async def main() -> None:
        models, workload = FakeModels(0.001), Workload()
        workload.short, workload.share = True, 2.0
        began = asyncio.get_running_loop().time()
        file = conversation(models, workload, (60, 1))
        speaker = conversation(models, workload, (2, 1), (60, 0))
        _, (replied,) = await asyncio.gather(
            hold(file, [np.zeros(33 * 16_000, np.float32)]), hold(speaker, [TENTH] * 40, pace=0.1)
        )
        assert asyncio.get_running_loop().time() - began == pytest.approx((33 - LEAD_SECONDS) / 2, abs=0.7)
        assert replied - began < 3

    virtual_time.run(main())


def test_it_goes_on_at_once_when_the_machine_has_time_again():
    async def main() -> None:
        workload, loop = Workload(), asyncio.get_running_loop()
        workload.short = True
        loop.call_later(5, setattr, workload, "short", False)
        await hold(conversation(FakeModels(0.001), workload, (60, 1)), [np.zeros(33 * 16_000, np.float32)])
        assert 5 <= loop.time() < 6

    virtual_time.run(main())


def test_a_machine_with_time_holds_nobody_back():
    async def main() -> None:
        await hold(conversation(FakeModels(0.001), Workload(), (60, 1)), [np.zeros(33 * 16_000, np.float32)])
        assert asyncio.get_running_loop().time() < 1

    virtual_time.run(main())


def test_one_long_message_does_not_keep_the_others_waiting():
    """Half a second of audio at a time: in between everybody else has a turn."""

    async def main() -> None:
        held = conversation(FakeModels(0.001), Workload(), (60, 0))
        long = asyncio.create_task(held.add_samples(np.zeros(32 * 16_000, np.float32)))
        turns = 0
        while not long.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 60
        await held.close()

    virtual_time.run(main())


class CountingModels(FakeModels):
    """Notes which requests were given up."""

    def __init__(self, **seconds: float) -> None:
        super().__init__(**seconds)
        self.given_up: list[str] = []

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        try:
            return await super().predict(text, due)
        except asyncio.CancelledError:
            self.given_up.append("nlu")
            raise

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        try:
            return await super().find(question, document, due)
        except asyncio.CancelledError:
            self.given_up.append("qa")
            raise


def with_document(models: FakeModels, workload: Workload, *script: tuple[float, float]) -> Conversation:
    config = ConversationConfig(turns=SETTINGS, documents=(Document("", "Paris is the capital of France."),))
    return Conversation(config, models, ScriptedVoice(*script), workload)


def test_what_is_not_ready_long_after_the_deadline_is_given_up():
    async def main() -> None:
        models, utilization = CountingModels(answering_seconds=30), Utilization()
        workload = Workload(observer=utilization)
        held = with_document(models, workload, (0.5, 0), (2, 1), (9, 0))
        replied, completed = await hold(held, [TENTH] * 60, pace=0.1)
        assert replied < 4
        assert completed - replied == pytest.approx(10, abs=0.1)
        assert models.given_up == ["qa"]
        assert asyncio.get_running_loop().time() < 15
        assert utilization.take() == [pytest.approx(1, abs=0.05)]
        assert utilization.take() == []

    virtual_time.run(main())


def test_what_was_speculated_is_given_up_when_speech_goes_on():
    async def main() -> None:
        models, fates = CountingModels(understanding_seconds=0.6, answering_seconds=0.6), Fates()
        workload = Workload(observer=fates)
        await hold(with_document(models, workload, (0.5, 0), (1, 1), (0.5, 0), (1, 1), (9, 0)), [TENTH] * 60, pace=0.1)
        assert sorted(models.given_up) == ["nlu", "qa"]
        assert fates.counted == {SpeculationFate.MADE: 2, SpeculationFate.RESUMED: 1, SpeculationFate.HIT: 1}

    virtual_time.run(main())


class Fates(TurnObserver):
    """Counts speculations by their fate."""

    def __init__(self) -> None:
        self.counted: collections.Counter[SpeculationFate] = collections.Counter()

    def speculated(self, conversation: str, fate: SpeculationFate) -> None:
        self.counted[fate] += 1


class DeadlineModels(FakeModels):
    """Notes how long there is for each answer, as it is handed on to Triton."""

    def __init__(self) -> None:
        super().__init__(0.001, 0.001, 0.001)
        self.left: list[float | None] = []

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        self.left.append(None if due is None else due - asyncio.get_running_loop().time())
        return await super().predict(text, due)


@pytest.mark.parametrize(
    ("endpointing", "silence", "expected"),
    [
        (EndpointingConfig(), 2.0, [0.416 + 0.3 + 10]),
        (EndpointingConfig(enabled=False), 2.0, [None]),
        (EndpointingConfig(enabled=False), 0.0, [0.3 + 10]),
    ],
)
def test_every_stage_is_told_how_long_there_is(endpointing: EndpointingConfig, silence: float, expected: list):
    async def main() -> None:
        models = DeadlineModels()
        config = ConversationConfig(turns=TurnSettings(endpointing=endpointing))
        held = Conversation(config, models, ScriptedVoice((1, 1), (60, 0)))
        await hold(held, [TENTH] * round(10 * (1 + silence)), pace=0.1)
        assert models.left == [left if left is None else pytest.approx(left, abs=0.25) for left in expected]

    virtual_time.run(main())


def test_throughput_is_what_all_speakers_together_had_answered():
    """A recognizer that takes 0.3 s a request, and an utterance that takes two: the text and the END."""

    async def main() -> None:
        models = FakeModels(recognition_seconds=0.3, understanding_seconds=0.2, answering_seconds=0.4)
        found = await measure_throughput(models, FakeVoiceModel())
        slow, fast = 1.0 / 1.2, 1.0 / 0.7
        assert SPEAKERS * UTTERANCE_SECONDS * slow < found < SPEAKERS * UTTERANCE_SECONDS * fast
        assert asyncio.get_running_loop().time() < MEASURED_SECONDS + 1.5
        assert models.open_sequences == []

    virtual_time.run(main())


def test_alone_is_from_the_end_of_an_utterance_to_its_reply():
    async def main() -> None:
        models = FakeModels(recognition_seconds=0.3, understanding_seconds=0.2, answering_seconds=0.4)
        assert 0.7 <= await measure_alone(models, FakeVoiceModel()) < 1.2

    virtual_time.run(main())


def test_models_that_fail_have_no_throughput():
    async def main() -> None:
        with pytest.raises(ModelError):
            await measure_throughput(FakeModels(fail={"asr"}), FakeVoiceModel())

    virtual_time.run(main())


class FakeVoiceModel:
    def new_stream(self) -> ScriptedVoice:
        return ScriptedVoice((60, 1))


def test_the_speech_that_is_measured_with_is_speech():
    utterances = calibration.recorded_utterances()
    assert len(utterances) > SPEAKERS
    assert {(one.dtype.name, len(one)) for one in utterances} == {("float32", round(UTTERANCE_SECONDS * 16_000))}
    assert all(0.01 < np.abs(one).max() <= 1 for one in utterances)
