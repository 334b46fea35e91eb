"""Stages: which of them a conversation wants, in which order they run, and what becomes of those that fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pipelines.data.answers import Document
from pipelines.data.messages import Notice, Reply, Status
from pipelines.data.stages import MAX_RESULT_CHARACTERS, PlannedStage, StageResult
from pipelines.session.config import ConversationConfig
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.stages.registry import Stage, StageRegistry
from pipelines.turns import effects, events
from tests.unit.pipelines.driver import Driver, emitted, finished

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.data.recognition import Timing

CHAIN = (PlannedStage("first"), PlannedStage("second", ("first",)), PlannedStage("third", ("second",)))
WITH_DOCUMENT = ConversationConfig(documents=(Document("", "Paris is the capital of France."),))


@dataclass(frozen=True)
class Output:
    text: str
    timing: Timing | None = None


@dataclass
class NamedStage:
    name: str
    after: tuple[str, ...] = ()
    is_wanted: bool = True
    behind: tuple[str, ...] = ()
    of_no_text: Output | None = None
    in_order: bool = False

    def wanted(self, _: ConversationConfig) -> bool:
        return self.is_wanted

    async def run(self, *_: object) -> AsyncIterator[Output]:
        yield Output(self.name)


def typed(driver: Driver) -> list[effects.Effect]:
    return driver(events.Typed("hello", 1.0))


def started(fresh: list[effects.Effect]) -> list[str]:
    return [effect.stage for effect in fresh if isinstance(effect, effects.RunStage)]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([NamedStage("a"), NamedStage("a")], "two stages are called 'a'"),
        ([NamedStage("asr")], "two stages are called 'asr'"),
        ([NamedStage("a", ("b",)), NamedStage("b")], "stage 'a' needs 'b': register that one before it"),
    ],
)
def test_a_list_of_stages_that_cannot_run_is_refused(stages: list[NamedStage], message: str):
    with pytest.raises(ValueError, match=message):
        StageRegistry(stages)


def test_without_documents_no_answer_is_planned():
    assert [stage.name for stage in SHIPPED_STAGES.plan(ConversationConfig())] == ["nlu"]
    assert [stage.name for stage in SHIPPED_STAGES.plan(WITH_DOCUMENT)] == ["nlu", "qa"]


def test_a_stage_that_needs_one_that_nobody_wants_is_not_wanted_either():
    registry = StageRegistry([NamedStage("a", is_wanted=False), NamedStage("b", ("a",)), NamedStage("c")])
    assert [stage.name for stage in registry.plan(ConversationConfig())] == ["c"]


def test_a_subclass_names_what_differs():
    class Early(Stage):
        name = "early"

    assert StageRegistry([Early()]).plan(ConversationConfig()) == (PlannedStage("early"),)


def test_results_for_callers_are_json():
    assert StageResult({"a": (1, None), 2: {"b": True}}).data == {"a": [1, None], "2": {"b": True}}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"a": "x" * MAX_RESULT_CHARACTERS}, ValueError),
        ({"a": float("nan")}, ValueError),
        ({"a": b"bytes"}, TypeError),
        (["no", "names"], TypeError),
    ],
)
def test_what_callers_cannot_be_told_fails_in_the_stage(data: object, error: type[Exception]):
    with pytest.raises(error):
        StageResult(data)


def test_a_stage_runs_with_the_results_of_those_that_it_needs():
    driver = Driver(stages=CHAIN)
    assert started(typed(driver)) == ["first"]
    run = driver.of(effects.RunStage)[-1]
    assert driver(events.StageYielded(1, run.speculation, "first", Output("half"))) == []
    (second,) = driver(*finished(run, "first", Output("whole")))
    assert second == effects.RunStage(1, run.speculation, "second", "hello", {"first": Output("whole")})
    assert started(driver(*finished(run, "second", Output("two")))) == ["third"]
    (reply,) = emitted(driver(*finished(run, "third", Output("three"))), Reply)
    assert {name: output.text for name, output in reply.results.items()} == {
        "first": "whole",
        "second": "two",
        "third": "three",
    }
    assert reply.status is Status.COMPLETE


def test_a_stage_that_fails_takes_those_that_need_it_with_it_and_nobody_waits():
    driver = Driver(stages=CHAIN)
    typed(driver)
    run = driver.of(effects.RunStage)[-1]
    (reply,) = emitted(driver(events.StageFailed(1, run.speculation, "first", "out of order")), Reply)
    assert (reply.status, reply.overran, reply.results) == (Status.DEGRADED, (), {})


def test_what_runs_at_the_deadline_goes_on_and_is_cancelled_when_it_is_given_up():
    driver = Driver(stages=CHAIN)
    typed(driver)
    run = driver.of(effects.RunStage)[-1]
    driver(*finished(run, "first", Output("one")))
    fresh = driver(events.DeadlinePassed(1))
    (reply,) = emitted(fresh, Reply)
    assert (reply.status, reply.overran) == (Status.PARTIAL, ("second", "third"))
    assert effects.SetDeadline(1, pytest.approx(reply.ended_at_seconds + 0.3 + 10)) in fresh
    assert not any(isinstance(effect, effects.CancelStage) for effect in fresh)
    fresh = driver(events.DeadlinePassed(1))
    (given_up,) = emitted(fresh, Reply)
    assert (given_up.status, given_up.completes, given_up.overran) == (Status.DEGRADED, True, reply.overran)
    assert [notice.message.split(" failed")[0] for notice in emitted(fresh, Notice)] == ["second", "third"]
    assert [effect for effect in fresh if isinstance(effect, effects.CancelStage)] == [
        effects.CancelStage(1, run.speculation, "second")
    ]


def test_what_ran_for_a_text_that_goes_on_is_cancelled():
    driver = Driver(stages=CHAIN)
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize("turn on")
    run = driver.of(effects.RunStage)[-1]
    fresh = driver.speak(0.5)
    assert effects.CancelStage(1, run.speculation, "first") in fresh


def test_no_stage_works_on_no_text():
    stages = (PlannedStage("known", of_no_text=Output("nothing")), PlannedStage("unknown"))
    driver = Driver(stages=stages)
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    fresh = driver.recognize("", final=True)
    (reply,) = emitted(fresh, Reply)
    assert started(fresh) == []
    assert (reply.status, reply.results) == (Status.COMPLETE, {"known": Output("nothing")})
