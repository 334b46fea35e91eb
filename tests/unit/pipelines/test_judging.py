"""Pauses judged in a conversation, with fake models and a clock that jumps."""

import asyncio
from typing import Self

import numpy as np
import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.answers import Document
from pipelines.data.messages import Message, Notice, Reply, SpeechEnded, SpeechPaused, SpeechResumed
from pipelines.data.predictions import IntentPrediction
from pipelines.data.recognition import PhraseHint
from pipelines.errors import InvalidInputError
from pipelines.load.workload import Workload
from pipelines.models.turn_end_port import TurnEnd
from pipelines.session.config import ConversationConfig, ConversationUpdate
from pipelines.session.conversation import Conversation
from pipelines.turns.observer import TurnObserver
from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode, Patience
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice

PCM = AudioFormat(Encoding.LINEAR_PCM, 16_000)
MODEL = EndpointingConfig(mode=EndpointingMode.MODEL)
GUIDE = (Document("guide", "Paris is the capital of France."),)


class Observer(TurnObserver):
    def __init__(self) -> None:
        self.judged_pauses: list[tuple[float | None, float]] = []

    def judged(self, conversation: str, probability: float | None, latency_seconds: float) -> None:
        self.judged_pauses.append((probability, round(latency_seconds, 3)))


async def hold(
    models: FakeModels,
    *script: tuple[float, float],
    pace: float = 1.0,
    chunk_seconds: float = 0.1,
    endpointing: EndpointingConfig = MODEL,
    observer: TurnObserver | None = None,
    short: bool = False,
) -> list[tuple[float, Message]]:
    """Sends audio in which the script is heard, at so many times its duration; returns what came, and when."""
    came: list[tuple[float, Message]] = []
    loop = asyncio.get_running_loop()
    config = ConversationConfig(PCM, TurnSettings(endpointing=endpointing), GUIDE)
    workload = Workload(observer=observer)
    workload.short = short
    conversation = Conversation(config, models, ScriptedVoice(*script), workload)

    async def listen() -> None:
        came.extend([(loop.time(), message) async for message in conversation.outbox])

    listener = asyncio.create_task(listen())
    for number in range(round(sum(seconds for seconds, _ in script) / chunk_seconds)):
        # As from a microphone: however long the service takes for one chunk, the next one is there in time.
        await asyncio.sleep(max(0.0, pace * chunk_seconds * (number + 1) - loop.time()))
        await conversation.add_audio(np.zeros(round(16_000 * chunk_seconds), "<i2").tobytes())
    await conversation.half_close()
    await listener
    await conversation.close()
    assert models.open_sequences == []
    return came


def of(kind: type, came: list[tuple[float, Message]]) -> list:
    return [message for _, message in came if isinstance(message, kind)]


COMMAND = ((0.32, 0.0), (1.28, 1.0), (2.0, 0.0))
HESITATION = ((0.32, 0.0), (1.28, 1.0), (0.992, 0.0), (1.28, 1.0), (2.0, 0.0))


class Timed(FakeModels):
    """Notes when it is asked what, beside judging."""

    async def judge(self, *asked: object) -> TurnEnd:
        self.judging_from = asyncio.get_running_loop().time()
        return await super().judge(*asked)

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        self.understanding_from = asyncio.get_running_loop().time()
        return await super().predict(text, due)


@pytest.mark.parametrize(
    ("short", "judging_seconds", "behind"), [(False, 0.1, 0.0), (True, 0.1, 0.1), (True, 0.3, 0.15)]
)
def test_a_pause_is_judged_first_where_time_is_short(short: bool, judging_seconds: float, behind: float) -> None:
    models = Timed(judgements=[0.99], judging_seconds=judging_seconds)
    came = virtual_time.run(hold(models, *COMMAND, short=short))
    assert models.understanding_from - models.judging_from == pytest.approx(behind, abs=0.005)
    assert len(of(Reply, came)) == 1


def test_a_sure_end_is_told_long_before_the_silence_rule_would_tell_it() -> None:
    came = virtual_time.run(hold(FakeModels(judgements=[0.99]), *COMMAND))
    (ended,) = of(SpeechEnded, came)
    assert ended.silence <= round(0.35 * 16_000)
    (reply,) = of(Reply, came)
    assert reply.speculated
    assert [paused.probability for paused in of(SpeechPaused, came)] == [0.99]


@pytest.mark.parametrize("chunk_seconds", [0.032, 0.1, 0.5])
@pytest.mark.parametrize("pace", [0.0, 0.3, 1.0])
def test_a_recording_is_cut_alike_however_fast_it_is_sent(pace: float, chunk_seconds: float) -> None:
    models = FakeModels(judgements=[0.02, 0.02, 0.02, 0.99])
    came = virtual_time.run(hold(models, *HESITATION, pace=pace, chunk_seconds=chunk_seconds))
    assert len(of(SpeechEnded, came)) == 1
    assert [type(message) for _, message in came if isinstance(message, SpeechPaused | SpeechResumed)] == [
        SpeechPaused,
        SpeechPaused,
        SpeechPaused,
        SpeechResumed,
        SpeechPaused,
    ]
    (ended,) = of(SpeechEnded, came)
    assert ended.silence <= round((0.35 + chunk_seconds) * 16_000)


@pytest.mark.parametrize("pace", [0.0, 1.0])
@pytest.mark.parametrize("failure", ["refuses", "late", "breaks"])
def test_without_an_answer_in_time_the_silence_rule_ends_the_turn(failure: str, pace: float, caplog) -> None:
    models, observer = FakeModels(), Observer()
    if failure == "late":
        models.judging_seconds = 60.0
    else:
        models.fail.add("end_of_turn")
    if failure == "breaks":
        models.error = ZeroDivisionError("secret")
    came = virtual_time.run(hold(models, *COMMAND, pace=pace, observer=observer))
    (ended,) = of(SpeechEnded, came)
    assert ended.silence == 19 * 512
    assert of(SpeechPaused, came) == of(Notice, came) == []
    (reply,) = of(Reply, came)
    assert reply.speculated
    if failure != "late":
        # With a judgement that is late the turn is over before it is given up.
        assert {probability for probability, _ in observer.judged_pauses} == {None}
    assert ("ZeroDivisionError" in caplog.text) == (failure == "breaks")
    assert "secret" not in caplog.text


def test_a_model_that_is_not_served_costs_no_time() -> None:
    class Without(FakeModels):
        def get(self, role: str, variant: str | None = None) -> FakeModels:
            if role == "end_of_turn":
                raise KeyError(role)
            return self

    def told(models: FakeModels, endpointing: EndpointingConfig) -> list[tuple[float, str]]:
        came = virtual_time.run(hold(models, *COMMAND, pace=0.0, endpointing=endpointing))
        return [(at, type(message).__name__) for at, message in came]

    by_model = told(Without(), MODEL)
    assert [name for _, name in by_model] == [name for _, name in told(FakeModels(), EndpointingConfig())]
    # Of audio that is sent at once only the text of the pause is waited for, which takes the fake two requests.
    assert by_model[-1][0] <= told(FakeModels(), EndpointingConfig())[-1][0] + 0.1


def test_a_reply_does_not_wait_for_a_judgement() -> None:
    models = FakeModels(judging_seconds=0.3)
    came = virtual_time.run(hold(models, (0.32, 0.0), (1.28, 1.0), (0.7, 0.0), endpointing=MODEL))
    (ended_at,) = (at for at, message in came if isinstance(message, SpeechEnded))
    (replied_at,) = (at for at, message in came if isinstance(message, Reply))
    assert replied_at == ended_at


def test_judgements_are_observed_with_their_latency() -> None:
    observer = Observer()
    virtual_time.run(hold(FakeModels(judgements=[0.99], judging_seconds=0.04), *COMMAND, observer=observer))
    assert observer.judged_pauses == [(0.99, 0.04)]


def test_who_leaves_in_a_pause_leaves_nothing_running() -> None:
    async def main() -> None:
        conversation = Conversation(
            ConversationConfig(PCM, TurnSettings(endpointing=MODEL), GUIDE),
            FakeModels(judging_seconds=0.3),
            ScriptedVoice((1.28, 1.0), (9, 0.0)),
        )
        for _ in range(16):
            await conversation.add_audio(np.zeros(1_600, "<i2").tobytes())
            await asyncio.sleep(0.1)
        assert [task for task in asyncio.all_tasks() if task.get_name() == "end-of-turn-1"]
        await conversation.close()

    virtual_time.run(main())


def test_the_memory_of_a_long_talk_with_pauses_is_bounded() -> None:
    async def main() -> None:
        models = FakeModels(judgements=[0.0])
        config = ConversationConfig(PCM, TurnSettings(endpointing=MODEL))
        conversation = Conversation(config, models, ScriptedVoice(*[(12.8, 1.0), (0.64, 0.0)] * 10, (1, 1.0)))
        kept = []
        for _ in range(1_200):
            await conversation.add_audio(np.zeros(1_600, "<i2").tobytes())
            await asyncio.sleep(0.1)
            kept.append(len(conversation._audio._timeline))
        await conversation.close()
        assert 8 * 16_000 <= max(kept) <= 29 * 16_000

    virtual_time.run(main())


class Updating:
    """A conversation that is changed while it is held."""

    def __init__(self, **chosen: object) -> None:
        self.models = FakeModels(judgements=[0.02])
        turns = TurnSettings(endpointing=chosen.pop("endpointing", MODEL))
        config = ConversationConfig(PCM, turns, **chosen)
        self.conversation = Conversation(config, self.models, ScriptedVoice(*[(1.28, 1.0), (1.984, 0.0)] * 3, (9, 0.0)))
        self.came: list[Message] = []

    async def __aenter__(self) -> Self:
        self._listener = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.conversation.close()
        await self._listener

    async def _listen(self) -> None:
        async for message in self.conversation.outbox:
            self.came.append(message)

    async def talk(self, seconds: float = 3.3) -> None:
        for _ in range(round(seconds / 0.1)):
            await self.conversation.add_audio(np.zeros(1_600, "<i2").tobytes())
            await asyncio.sleep(0.1)


def test_bounds_change_in_mid_stream() -> None:
    async def main() -> None:
        async with Updating() as held:
            await held.talk()
            held.conversation.update(ConversationUpdate({"longest_silence_seconds": 0.32}))
            await held.talk()
            first, second = (message.silence for message in held.came if isinstance(message, SpeechEnded))
            assert (first > 40 * 512, second) == (True, 10 * 512)

    virtual_time.run(main())


def test_documents_and_hints_change_in_mid_stream() -> None:
    async def main() -> None:
        async with Updating() as held:
            await held.talk()
            hints = (PhraseHint("the lighthouse"),)
            held.conversation.update(ConversationUpdate(documents=GUIDE, hints=hints))
            await held.talk()
            held.conversation.update(ConversationUpdate(documents=()))
            await held.talk()
            replies = [message for message in held.came if isinstance(message, Reply)]
            assert [reply.answer and reply.answer.document_id for reply in replies] == [None, "guide", None]
            assert [sequence.options.hints for sequence in held.models.sequences] == [(), hints, hints]

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("chosen", "update", "field"),
    [
        ({}, ConversationUpdate({"longest_silence_seconds": 99.0}), "config.endpointing.longest_silence"),
        ({}, ConversationUpdate(documents=(Document("", ""),)), "config.documents"),
        (
            {"endpointing": EndpointingConfig(enabled=False)},
            ConversationUpdate({"patience": Patience.EAGER}),
            "config.endpointing",
        ),
    ],
)
def test_a_change_that_cannot_be_served_is_refused_by_name(
    chosen: dict[str, object], update: ConversationUpdate, field: str
) -> None:
    async def main() -> None:
        async with Updating(**chosen) as held:
            with pytest.raises(InvalidInputError) as refused:
                held.conversation.update(update)
            assert refused.value.field == field

    virtual_time.run(main())


def test_what_was_not_heard_when_a_caller_was_cancelled_is_heard_later() -> None:
    async def main() -> None:
        async with Updating() as held:
            # All at once, so that it has to wait for the judgement of the pause; and then it is given up.
            audio = np.zeros(16_000 * 2, "<i2").tobytes()
            sending = asyncio.create_task(held.conversation.add_audio(audio))
            await asyncio.sleep(0.01)
            sending.cancel()
            await asyncio.wait((sending,))
            assert held.conversation.state.awaits_judgement
            await held.talk(3.3)
            assert held.conversation.state.heard_to == (16_000 * 2 + 33 * 1_600) // 512 * 512
            assert len([message for message in held.came if isinstance(message, SpeechEnded)]) == 1

    virtual_time.run(main())


def test_an_end_that_overtakes_a_pause_loses_no_audio() -> None:
    async def main() -> None:
        async with Updating() as held:
            sending = asyncio.create_task(held.conversation.add_audio(np.zeros(16_000 * 2, "<i2").tobytes()))
            await asyncio.sleep(0.01)
            sending.cancel()
            await asyncio.wait((sending,))
            assert held.conversation.state.heard_to < 16_000 * 2 - 512
            held.conversation.end_utterance()
            await held.talk(0.2)
            (sequence,) = held.models.sequences
            assert sequence.samples == 16_000 * 2

    virtual_time.run(main())
