"""Agents and callers that nobody means well with: clear errors, polite ends, nothing done twice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.folder import check
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.value_list import ValueList
from tests.unit.pipelines.dialog.agents import Caller

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "name: bar\nintents:\n  order:\n    response: Done.\n    slots:\n"
NESTED = "{type: items, say: x, slots: {a: {type: closed, required: true, prompt: 'A?'}, b: %s}}"


def _nested(depth: int) -> str:
    text = "{type: text}"
    for _ in range(depth):
        text = NESTED % text
    return text


@pytest.mark.parametrize(
    ("slots", "problem"),
    [
        ("".join(f"      s{n}: {{type: text}}\n" for n in range(1_000)), "'slots': too many: 50 are the most"),
        (f"      things: {_nested(1)}\n", "the closed slot 'a' has no value list"),
        (f"      things: {_nested(2)}\n", "a list within a list"),
        (f"      things: {_nested(4)}\n", "a list within a list"),
        (f"      things: {_nested(9)}\n", "nested more than 16 deep"),
        ("      a: {type: items, say: x, slots: {}}\n      b: {type: items, say: x, slots: {}}\n", "a second list"),
        ("".join(f"      {one}: {{type: number, required: true, prompt: '?', when: {{{next_}: '1'}}}}\n"
                 for one, next_ in ("ab", "bc", "ca")), "wait for each other"),
        ("      a: {type: number, allow: {between: ['5', '1']}}\n", "so that every value is refused"),
        ("      a: {type: number, within: nowhere}\n", "no table 'nowhere' has the values"),
        ("      a: {type: text}\n    check: {nobody: [a]}\n", "nothing carries 'nobody' out"),
        ("      a: {type: text}\n    computed: {x: y, y: x}\n", "needs itself"),
        ("      a: {type: text}\n    computed: {x: '" + "(" * 150 + "'}\n", "a value is missing"),
    ],
)  # fmt: skip
def test_agents_are_refused_with_a_line_and_a_cure(tmp_path: Path, slots: str, problem: str):
    (tmp_path / "agent.yaml").write_text(HEAD + slots, "utf-8")
    (tmp_path / "sentences").mkdir()
    (tmp_path / "sentences" / "order.txt").write_text("I want to order\n", "utf-8")
    began = time.process_time()
    problems = [str(one) for one in check(tmp_path)]
    assert any(problem in one and "agent.yaml, line" in one for one in problems), problems[:3]
    assert time.process_time() - began < 5


FORM: dict[str, Any] = {
    "name": "bar",
    "no_match": {"times": 2, "then": "end"},
    "fulfilments": {"order": {"reply": {}}},
    "intents": {
        "order": {
            "slots": {
                "things": {
                    "type": "items",
                    "required": True,
                    "prompt": "What?",
                    "more": "Else?",
                    "say": "{thing}",
                    "slots": {"thing": {"type": "closed", "required": True, "prompt": "Which?"}},
                },
            },
            "confirm": "{things}?",
            "fulfilment": "order",
            "response": "Done.",
        }
    },
}


@pytest.mark.parametrize("text", ["no", "No!", "no no no", "nope", "I said no"])
@pytest.mark.parametrize("begins", ["I want a pen", "I want to order", "a pen, that's all"])
def test_callers_who_say_nothing_but_no(text: str, begins: str):
    caller = Caller(Agent(AgentForm.model_validate(FORM), {"thing": ValueList(("pen", "ink"), {})}))
    caller.say(begins, "order")
    for _ in range(12):
        if not caller.state.ended:
            caller.say(text)
        assert not caller.state.fulfilling
    assert not caller.state.has_acted


@pytest.mark.parametrize("text", ["a pen", "and a pen", "another one", "remove the pen", "the tenth one", "both pens"])
def test_callers_who_repeat_themselves(text: str):
    caller = Caller(Agent(AgentForm.model_validate(FORM), {"thing": ValueList(("pen", "ink"), {"pens": "pen"})}))
    caller.say("a pen and an ink", "order")
    began = time.process_time()
    for _ in range(50):
        if not caller.state.ended:
            caller.say(text)
    assert time.process_time() - began < 50 * 0.02
    form = caller.state.form
    assert form is None or len(form.items) <= 20
    assert not caller.state.has_acted
