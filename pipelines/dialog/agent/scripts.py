"""Scripts of conversations: what a caller does, and what must come of it.

::

    - name: asks for what is missing
      turns:
        - caller: I want a latte
          agent: What size           # stands in what the agent says
          asked: size
        - caller: a large one
          slots: {size: large, coffeeDrink: latte}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from pipelines.dialog.agent.form import Names, Texts
from pipelines.dialog.agent.form_problems import validated
from pipelines.dialog.agent.problems import AgentError, Problem
from pipelines.dialog.agent.yaml_file import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

MAX_SCRIPTS = 1_000
"""Of one file."""
MAX_TURNS = 200
"""Of one script."""

_ACTS = ("caller", "dtmf", "silence_seconds")


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Turn(_Form):
    """One turn of a script: one thing that the caller does, and what is expected.

    Attributes:
        caller: what the caller says; None: something else is done.
        recording: file in which that is said, from the script's folder, for rehearsals that are spoken.
        dtmf: keys that the caller presses.
        silence_seconds: how long nothing is said.
        wait_seconds: time that passes before, in seconds.
        parameters: session parameters that change before.
        answer: what documents would answer.
        fulfilment: how a fulfilment that this turn starts ends; ``failed`` or ``done``.
        result: slots that it gives another value.
        ask_again: slot that it asks for anew, where it failed.
        offers: values that it offers then.
        says: what it says.
        agent: texts that stand in what the agent says, in this order and whatever their case.
        intent: that the dialog is about; "" for none.
        slots: that are filled, with their values; others may be filled as well.
        empty: slots that must not be filled.
        asked: the slot that is asked for; "" for none.
        confirming: whether the agent waits for yes or no.
        fulfilled: name of the fulfilment that was asked for.
        ends: whether the dialog is over: ``end`` or ``hand_over``.
    """

    caller: str | None = Field(default=None, max_length=1_000)
    recording: str | None = Field(default=None, max_length=500)
    dtmf: str | None = Field(default=None, pattern=r"^[0-9*#A-D]{1,32}$")
    silence_seconds: float | None = Field(default=None, gt=0, le=3_600)
    wait_seconds: float = Field(default=0.0, ge=0, le=86_400)
    parameters: dict[str, str] = Field(default_factory=dict)
    answer: str = Field(default="", max_length=1_000)
    fulfilment: Literal["done", "failed"] = "done"
    result: dict[str, str] = Field(default_factory=dict)
    ask_again: str = Field(default="", max_length=64)
    offers: Names = ()
    says: str = Field(default="", max_length=1_000)
    agent: Texts = ()
    intent: str | None = None
    slots: dict[str, str] = Field(default_factory=dict)
    empty: Names = ()
    asked: str | None = None
    confirming: bool | None = None
    fulfilled: str | None = None
    ends: Literal["end", "hand_over"] | None = None


class Script(_Form):
    """One conversation.

    Attributes:
        name: what it tries.
        parameters: session parameters at its beginning.
        begins: texts that stand in what the agent says first.
        turns: what happens.
    """

    name: str = Field(min_length=1, max_length=200)
    parameters: dict[str, str] = Field(default_factory=dict)
    begins: Texts = ()
    turns: tuple[Turn, ...] = Field(min_length=1, max_length=MAX_TURNS)


def read_scripts(path: Path) -> tuple[Script, ...]:
    """Read a file of scripts.

    Raises:
        AgentError: it cannot be used; all problems are told.
    """
    file = read_yaml(path)
    if not isinstance(file.content, list) or not file.content:
        raise AgentError([Problem(path, 1, "no list of scripts: write - name: … with turns: below it")])
    if len(file.content) > MAX_SCRIPTS:
        raise AgentError(
            [Problem(path, 1, f"{len(file.content)} scripts: {MAX_SCRIPTS} are the most, divide the file")]
        )
    problems: list[Problem] = []
    scripts: list[Script] = []
    for index, content in enumerate(file.content):
        try:
            script = validated(Script, file, content, (index,))
        except AgentError as error:
            problems += error.problems
            continue
        for number, turn in enumerate(script.turns):
            if sum(getattr(turn, act) is not None for act in _ACTS) != 1:
                message = f"a turn needs exactly one of {', '.join(_ACTS)}: write one of them"
                problems.append(file.problem((index, "turns", number), message))
        scripts.append(script)
    names = [script.name for script in scripts]
    for index, name in enumerate(names):
        if name in names[:index]:
            problems.append(file.problem((index,), f"a second script is called {name!r}: rename it"))
    if problems:
        raise AgentError(problems)
    return tuple(scripts)
