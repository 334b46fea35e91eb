"""Replies that are completed after their budget: nothing is dropped, and nothing happens twice."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.data.answers import Document
from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.turn import Cause
from pipelines.data.messages import Interrupted, Notice, Reply, ReplyAudio, Status
from pipelines.data.speech import SpokenText
from pipelines.data.stages import DIALOG, NLU, PlannedStage
from pipelines.dialog.session import DialogSession
from pipelines.errors import ModelError
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from pipelines.session.typed_turn import answer_typed
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.turns import effects, events, speech_effects
from pipelines.turns.state import TurnSettings
from tests import virtual_time
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.pipelines.dialog.dialog_conversations import Baker, session_of
from tests.unit.pipelines.dialog.test_dialog_turns import OrderingModels
from tests.unit.pipelines.driver import UNDERSTANDING, Driver, emitted, finished
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.pipelines.spoken import SpeakingModels, spoken_session

if TYPE_CHECKING:
    from pipelines.data.predictions import IntentPrediction

GUIDE = (Document("guide", "Paris is the capital of France."),)
IN_ORDER = (PlannedStage(NLU), PlannedStage("order", (NLU,), in_order=True), PlannedStage("extra", (NLU,)))
SPOKEN = (PlannedStage(NLU), PlannedStage("speech", (NLU,)), PlannedStage("extra", (NLU,)))


def runs(driver: Driver, turn: int, stage: str) -> effects.RunStage:
    """The last time that a stage was started for a turn."""
    return [run for run in driver.of(effects.RunStage) if (run.turn, run.stage) == (turn, stage)][-1]


def changed() -> events.Prompted:
    """The dialog changes, and the agent says nothing to it."""
    session = DialogSession(agent_of(BAR))
    return events.Prompted(session.change({"house": "open"}), {}, 0.0)


def test_a_turn_that_was_told_holds_no_later_one_up_and_one_that_was_not_does():
    driver = Driver(stages=IN_ORDER)
    driver(events.Typed("one", 0.0), events.Typed("two", 0.1))
    driver(*finished(runs(driver, 2, NLU), NLU, UNDERSTANDING))
    driver(events.DeadlinePassed(1), events.DeadlinePassed(2))
    assert [reply.overran for reply in driver.said(Reply)] == [(NLU, "order", "extra"), ("order", "extra")]
    assert not [run for run in driver.of(effects.RunStage) if run.stage == "order"], "the second waits for the first"
    driver(*finished(runs(driver, 1, NLU), NLU, UNDERSTANDING))
    driver(*finished(runs(driver, 1, "order"), "order", SpokenText("first")))
    driver(*finished(runs(driver, 1, "extra"), "extra", SpokenText("")))
    driver(*finished(runs(driver, 2, "order"), "order", SpokenText("second")))
    driver(*finished(runs(driver, 2, "extra"), "extra", SpokenText("")))
    assert [(reply.turn, reply.completes) for reply in driver.said(Reply)] == [
        (1, False), (2, False), (1, True), (2, True),
    ]  # fmt: skip


def test_a_later_turn_does_not_wait_for_what_has_nothing_to_do_with_the_dialog():
    driver = Driver(stages=IN_ORDER)
    driver(events.Typed("one", 0.0))
    driver(*finished(runs(driver, 1, NLU), NLU, UNDERSTANDING))
    driver(*finished(runs(driver, 1, "order"), "order", SpokenText("first")), events.DeadlinePassed(1))
    driver(events.Typed("two", 1.0))
    driver(*finished(runs(driver, 2, NLU), NLU, UNDERSTANDING))
    assert runs(driver, 2, "order")
    driver(changed())
    assert len([run for run in driver.of(effects.RunStage) if run.turn == 1]) == 3, "what has happened stays"


@pytest.mark.parametrize(("text", "runs_again"), [("turn on the light", False), ("turn off the light", True)])
def test_nothing_happens_and_nothing_is_said_before_the_text_is_final(text: str, runs_again: bool):
    stages = (PlannedStage(NLU), PlannedStage("order", (NLU,), in_order=True), PlannedStage("speech", ("order",)))
    driver = Driver(stages=stages)
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize("turn on the light")
    for stage in (NLU, "order", "speech"):
        driver(*finished(runs(driver, 1, stage), stage, SpokenText("It is on.")))
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    fresh = driver(events.DeadlinePassed(1))
    (reply,) = emitted(fresh, Reply)
    assert (reply.results.keys(), reply.overran) == ({NLU}, ("asr", "order", "speech"))
    assert driver.of(speech_effects.StartSpeech) == []
    before = len(driver.of(effects.RunStage))
    fresh = driver.recognize(text, final=True)
    assert (len(driver.of(effects.RunStage)) > before) == runs_again
    for stage in (NLU, "order", "speech") if runs_again else ():
        fresh += driver(*finished(runs(driver, 1, stage), stage, SpokenText("It is off.")))
    (whole,) = emitted(fresh, Reply)
    assert whole.speech_text == ("It is off." if runs_again else "It is on.")
    assert [(start.turn, start.text) for start in driver.of(speech_effects.StartSpeech)] == [(1, whole.speech_text)]


def test_a_late_reply_is_spoken_as_soon_as_its_words_are_there_and_once():
    driver = Driver(stages=SPOKEN)
    driver(events.Typed("one", 0.0), events.DeadlinePassed(1))
    driver(*finished(runs(driver, 1, NLU), NLU, UNDERSTANDING))
    driver(*finished(runs(driver, 1, "speech"), "speech", SpokenText("Paris.")))
    assert driver.of(speech_effects.StartSpeech) == [speech_effects.StartSpeech(1, "Paris.")]
    driver(events.SpeechSent(1, 0.5, 1.0, is_last=True))
    driver(*finished(runs(driver, 1, "extra"), "extra", SpokenText("")))
    _, whole = driver.said(Reply)
    assert whole.speech_text == "Paris."
    assert len(driver.of(speech_effects.StartSpeech)) == 1
    assert driver.state.spoken_early == ()


def test_a_late_reply_that_was_cancelled_is_not_spoken():
    driver = Driver(stages=SPOKEN)
    driver(events.Typed("one", 0.0), events.DeadlinePassed(1), events.CancelRequested(1, 0.5))
    for stage in (NLU, "speech", "extra"):
        driver(*finished(runs(driver, 1, stage), stage, SpokenText("Paris.")))
    assert driver.of(speech_effects.StartSpeech) == []
    assert [type(message) for message in driver.said((Reply, Interrupted))] == [Reply, Interrupted, Reply]
    assert driver.state.unspoken == ()


def test_the_whole_takes_the_place_of_a_partial_reply_that_waits_for_an_earlier_turn():
    driver = Driver(budget_seconds=5.0)
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 1.0), events.Typed("two", 1.1), events.DeadlinePassed(2))
    assert driver.said(Reply) == []
    driver.understand()
    driver(events.DeadlinePassed(1))
    assert [(reply.turn, reply.status, reply.completes) for reply in driver.said(Reply)] == [
        (1, Status.PARTIAL, False),
        (2, Status.COMPLETE, False),
    ]


def test_what_is_never_recognized_is_told_as_a_failure():
    driver = Driver()
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 1.0), events.DeadlinePassed(1))
    fresh = driver(events.DeadlinePassed(1))
    assert [notice.message.split(":")[0] for notice in emitted(fresh, Notice)] == [
        "asr failed", "nlu failed", "qa failed",
    ]  # fmt: skip
    assert emitted(fresh, Reply)[0].status is Status.DEGRADED


@dataclass
class SlowModels(OrderingModels):
    """Understand what is slow after so many seconds."""

    slow: dict[str, float] = field(default_factory=dict)

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        await asyncio.sleep(self.slow.get(text, 0.0))
        return await super().predict(text, due)


async def talk(models: FakeModels, *said: tuple[float, str], **chosen: Any) -> list[tuple[float, Any]]:
    """Types what is said at its time; returns what is told, and when."""
    loop = asyncio.get_running_loop()
    conversation = Conversation(ConversationConfig(**chosen), models, None)
    came: list[tuple[float, Any]] = []

    async def read() -> None:
        came.extend([(loop.time(), message) async for message in conversation.outbox])

    reading = asyncio.create_task(read())
    for at, text in said:
        await asyncio.sleep(at - loop.time())
        await conversation.add_text(text)
    await conversation.half_close()
    await reading
    await conversation.close()
    return came


def test_an_agent_takes_a_late_turn_late_and_asks_to_wait_for_it():
    async def hold():
        session, models = session_of(), SlowModels(slow={"a latte please": 4.0, "small": 0.9})
        came = await talk(models, (0.0, "a latte please"), (5.0, "small"), dialog=session)
        replies = [
            (round(at, 1), reply.status.value, reply.speech_text) for at, reply in came if isinstance(reply, Reply)
        ]
        assert replies == [
            (0.3, "PARTIAL", ""),
            (1.5, "COMPLETE", "One moment, please."),
            (4.0, "COMPLETE", "Which size?"),
            (5.3, "PARTIAL", ""),
            (5.9, "COMPLETE", "1 small latte?"),
        ]
        causes = [reply.dialog.cause for _, reply in came if isinstance(reply, Reply) and reply.dialog is not None]
        assert causes == [Cause.LATE, Cause.TURN, Cause.TURN]
        assert session.state.said == ("1 small latte?",)

    virtual_time.run(hold())


def test_turns_behind_a_late_one_happen_after_it():
    async def hold():
        models = SlowModels(slow={"a small latte": 2.0})
        came = await talk(models, (0.0, "a small latte"), (0.1, "no, a large one"), (0.2, "yes"), dialog=session_of())
        whole = [reply for _, reply in came if isinstance(reply, Reply) and reply.completes]
        assert [reply.speech_text for reply in whole] == ["1 small latte?", "1 large latte?", "Done."]

    virtual_time.run(hold())


def test_a_late_order_is_carried_out_once():
    async def hold():
        baker = Baker()
        models = SlowModels(slow={"yes": 3.0}, answering_seconds=6.0)
        session = session_of(fulfillers={"order": baker})
        turns = (0.0, "a small latte"), (10.0, "yes")
        came = await talk(models, *turns, dialog=session, documents=GUIDE)
        assert len(baker.tasks) == 1
        assert [reply.speech_text for _, reply in came if isinstance(reply, Reply)][-1] == "It is ready."

    virtual_time.run(hold())


def test_what_the_caller_carries_out_is_told_once():
    """A stage of somebody's own is late behind the dialog."""
    session = DialogSession(agent_of(BAR))
    driver = Driver(stages=(PlannedStage(DIALOG, in_order=True), PlannedStage("extra")))
    driver(events.Typed("a small latte", 0.0))
    preview = session.preview("a small latte", UNDERSTANDING)
    fulfilled = dataclasses.replace(preview, actions=(*preview.actions, Fulfil(1, "order", "order", {})))
    driver(*finished(runs(driver, 1, DIALOG), DIALOG, fulfilled))
    (commit,) = [it for it in driver(events.DeadlinePassed(1)) if isinstance(it, effects.CommitDialog)]
    assert driver.said(Reply) == [], "nothing is told that does not count"
    driver(events.DialogCommitted(commit.turn, commit.step))
    driver(*finished(runs(driver, 1, "extra"), "extra", SpokenText("")))
    told, again = driver.said(Reply)
    assert (told.dialog.text, [task.number for task in told.dialog.fulfilled]) == (preview.text, [1])
    assert (again.completes, again.dialog.text, again.dialog.fulfilled) == (True, preview.text, ())


def test_ten_of_ten_typed_questions_are_answered_aloud():
    async def hold():
        models = SpeakingModels(answering_seconds=0.06, sentence_seconds=1.0)
        turns = [(2.0 * number, "what is the capital?") for number in range(10)]
        settings = TurnSettings(budget_seconds=0.02)
        came = await talk(models, *turns, turns=settings, documents=GUIDE, reply_voice=ReplyVoice())
        replies = [reply for _, reply in came if isinstance(reply, Reply)]
        assert [reply.status for reply in replies] == [Status.PARTIAL, Status.COMPLETE] * 10
        assert [audio.turn for _, audio in came if isinstance(audio, ReplyAudio) and audio.is_last] == [*range(1, 11)]

    virtual_time.run(hold())


def test_an_answer_that_comes_while_somebody_speaks_is_an_answer_still():
    async def hold():
        models = SpeakingModels(answering_seconds=1.0)
        async with spoken_session(models, (0.3, 0.0), (1.0, 0.9), (60.0, 0.0)) as session:
            await session.talk(8.0)
            partial, whole = session.of(Reply)
            assert (partial.status, partial.speech_text) == (Status.PARTIAL, "")
            assert (whole.completes, whole.speech_text) == (True, "Paris is the capital of France.")
            (first, _), *_ = session.audio()
            assert first - session.when(Reply)[1] < 0.05
            assert session.heard() == pytest.approx(3.0)

    virtual_time.run(hold())


@pytest.mark.parametrize(
    ("wait_seconds", "status", "took"),
    [
        (None, Status.COMPLETE, 2.0),
        (5.0, Status.COMPLETE, 2.0),
        (1.0, Status.PARTIAL, 1.0),
        (0.1, Status.PARTIAL, 0.29),
    ],
)
def test_one_answer_is_waited_for_within_the_deadline_of_its_call(
    wait_seconds: float | None, status: Status, took: float
):
    async def hold():
        config = ConversationConfig(documents=GUIDE)
        reply, _ = await answer_typed(config, "what?", FakeModels(answering_seconds=2.0), wait_seconds=wait_seconds)
        assert (reply.status, asyncio.get_running_loop().time()) == (status, pytest.approx(took, abs=0.02))
        assert reply.overran == ("qa",)

    virtual_time.run(hold())


def test_one_answer_of_which_everything_fails_late_is_an_error():
    async def hold():
        models = FakeModels(understanding_seconds=1.0, fail={"nlu"})
        with pytest.raises(ModelError, match="out of order"):
            await answer_typed(ConversationConfig(), "what?", models)

    virtual_time.run(hold())
