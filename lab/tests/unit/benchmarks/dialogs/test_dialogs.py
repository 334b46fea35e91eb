"""Dialogs held by the benchmark: on a real socket, with models that are fakes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import vivavoce
from benchmarks.dialogs.callers import Call, Caller, _answer, _is_right, callers
from benchmarks.dialogs.partner import Heard, NoReplyError, talking
from benchmarks.dialogs.scripts import play, playable
from pipelines.dialog.agent.scripts import Script
from pipelines.dialog.sessions import DialogSessions
from service.sessions.dialogs import Dialogs
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.service.harness import Harness
from tests.unit.service.test_dialogs import OrderingModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ORDER = {
    "name": "order",
    "begins": "Hello.",
    "turns": [
        {"caller": "a latte please", "asked": "size", "agent": "Which size?", "intent": "order"},
        {"dtmf": "1", "confirming": True, "slots": {"size": "small"}},
        {"caller": "yes", "agent": "Done.", "fulfilled": "order", "slots": {"drink": "latte"}},
    ],
}


@pytest.fixture
async def client() -> AsyncIterator[vivavoce.Client]:
    dialogs = Dialogs({"bar": agent_of()}, DialogSessions())
    models = OrderingModels(0.001, 0.001, 0.001)
    async with Harness.running(models=models, dialogs=dialogs) as running, vivavoce.connect(running.address) as client:
        running.voice.probability = 0.0
        yield client


def script_of(*turns: dict[str, object], **more: object) -> Script:
    return Script.model_validate(ORDER | ({"turns": list(turns)} if turns else {}) | more)


async def test_a_script_is_played(client: vivavoce.Client, tmp_path: Path):
    played = await play(client, "bar", script_of(parameters={"house": "Ada's"}), None, tmp_path, 0)
    assert (played.failures, played.reached) == ([], True)
    assert played.lines[0] == "caller: a latte please"


async def test_what_fails_in_a_script(client: vivavoce.Client, tmp_path: Path):
    script = script_of({"caller": "a latte please", "asked": "drink"}, {"caller": "hold on"}, {"caller": "hello"})
    played = await play(client, "bar", script, None, tmp_path, 0)
    assert played.failures == ["turn 1: asked: 'drink' was expected, 'size' came"]
    ended = await play(client, "bar", script_of({"caller": "goodbye"}, {"caller": "hello"}), None, tmp_path, 0)
    assert ended.failures == ["the dialog is over after turn 1"]
    assert not ended.reached
    greeted = await play(client, "bar", script_of({"caller": "a latte"}, begins="Good day"), None, tmp_path, 0)
    assert greeted.failures == ["agent: 'Good day' was expected, 'Hello.' came"]


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ({"caller": "hi"}, ""),
        ({"silence_seconds": 9}, "silence"),
        ({"caller": "hi", "wait_seconds": 60}, "time pass"),
        ({"caller": "hi", "answer": "Paris."}, "documents"),
        ({"caller": "..."}, "without a word"),
    ],
)
def test_what_a_live_service_cannot_play(turn: dict[str, object], reason: str):
    assert reason in playable(script_of(turn))
    assert bool(playable(script_of(turn))) is bool(reason)


async def test_somebody_speaks(client: vivavoce.Client):
    async with talking(client, "bar", spoken=True) as partner:
        heard = await partner.be_silent(0.2)
        assert heard.replies == []
        assert partner.greeting == "Hello."
        partner.set_parameters({"house": "closed"})
        await partner.be_silent(0.3)
        keyed = await partner.press("1#")
        assert keyed.dialog.parameters == {"house": "closed"}
        assert keyed.said == "Sorry?"


async def test_a_conversation_that_has_ended_answers_nothing(client: vivavoce.Client):
    async with talking(client, "bar", spoken=True) as partner:
        partner.hang_up()
        await partner.be_silent(0.3)
        with pytest.raises(NoReplyError, match="has ended"):
            await partner.say(np.zeros(1_600, np.float32))
    async with talking(client, "pub", spoken=False) as partner:
        with pytest.raises(vivavoce.InvalidRequest):
            await partner.type("hello")


def heard_with(**dialog: object) -> Heard:
    reply = vivavoce.Reply(
        1, "", None, (), None, vivavoce.ReplyStatus.COMPLETE, (), vivavoce.Latency(0.0, ()), False,
        dialog=vivavoce.Dialog(**dialog),  # type: ignore[arg-type]
    )  # fmt: skip
    return Heard(replies=[reply])


@pytest.mark.parametrize(
    ("dialog", "said"),
    [
        ({}, ""),
        ({"intent": "o", "asked": "coffeeDrink"}, "mocha."),
        ({"intent": "o", "confirming": True, "slots": {"coffeeDrink": "mocha", "size": "small", "count": "1"}}, "Yes."),
        ({"intent": "o", "confirming": True, "slots": {"coffeeDrink": "latte", "size": "small"}}, "No, I want mocha."),
        ({"intent": "o", "slots": {"coffeeDrink": "latte", "size": "small"}}, "mocha."),
        (
            {"intent": "o", "confirming": True, "slots": {"coffeeDrink": "mocha", "size": "small", "milk": "milk"}},
            "No, without milk.",
        ),
    ],
)
def test_what_a_caller_answers(dialog: dict[str, object], said: str, tmp_path: Path):
    wanted = {"coffeeDrink": "mocha", "size": "small"}
    made = Call(Caller(tmp_path, tmp_path, wanted))
    # A correction is counted before it is worded.
    made.corrections = -1
    assert _answer(heard_with(**dialog), wanted, made, 0) == said


def test_who_calls(tmp_path: Path):
    slots = [{"coffeeDrink": "mocha"}, {"coffeeDrink": "latte", "roast": "dark roast"}, {"coffeeDrink": "espresso"}]
    sized = [{"coffeeDrink": "latte", "size": "large"}, {"coffeeDrink": "mocha", "size": "small"}]
    labels = {f"{number}.flac": {"intent": "order", "slots": one} for number, one in enumerate([*slots, *sized])}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    found = callers(tmp_path, 3)
    assert [(one.order.name, one.answer.name) for one in found] == [
        ("0.flac", "4.flac"),
        ("1.flac", "3.flac"),
        ("2.flac", "3.flac"),
    ]
    assert found[1].wanted == {"coffeeDrink": "latte", "roast": "dark roast", "size": "large"}
    assert [one.order.name for one in callers(tmp_path, 2)] == ["0.flac", "1.flac"]


def test_when_an_order_is_right():
    assert _is_right({"size": "small", "count": "1"}, {"size": "small"})
    assert not _is_right({"size": "small", "count": "2"}, {"size": "small"})
    assert not _is_right({"size": "small", "roast": "dark roast"}, {"size": "small"})
