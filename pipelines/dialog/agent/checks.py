"""Cross-checks of an agent: references, and an end to every dialog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.data.values import ValueKind
from pipelines.dialog.agent.allowed import faults_of
from pipelines.dialog.agent.computed_checks import faults_of_computed
from pipelines.dialog.agent.condition_checks import circles_of, faults_of_condition
from pipelines.dialog.agent.form import CLOSED
from pipelines.dialog.agent.fulfilment_checks import faults_of_fulfilments
from pipelines.dialog.agent.item_checks import faults_of_items
from pipelines.dialog.agent.template_checks import CHOICES, faults_of_template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent, Slot
    from pipelines.dialog.agent.problems import Problem
    from pipelines.dialog.agent.yaml_file import Place, YamlFile

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TEXTS = (
    *(
        "begin",
        "end",
        "help",
        "cancelled",
        "change",
        "wait",
        "hold",
        "robot",
        "welcome",
        "too_late",
        "only_now",
        "failed",
        "unsure",
    ),
    "hand_over",
)


def check_whole(agent: Agent, file: YamlFile) -> list[Problem]:
    """Return the problems between an agent's parts.

    Args:
        agent: with the value lists and sentences that could be read.
        file: ``agent.yaml``, for lines.
    """
    problems = [file.problem(place, message) for place, message in (*_texts(agent), *faults_of_fulfilments(agent))]
    if agent.form.fallback is not None and agent.form.fallback not in agent.intents:
        there = ", ".join(agent.intents)
        problems.append(file.problem(("fallback",), f"{agent.form.fallback!r} is no intent: write one of {there}"))
    opened = {name for intent in agent.intents.values() for name in intent.opens}
    heard: dict[str, str] = {}
    for name, intent in agent.intents.items():
        place: Place = ("intents", name)
        problems += [file.problem((*place, *inner), message) for inner, message in _of_intent(agent, name, intent)]
        for key in ("needs", "follows"):
            for context in getattr(intent, key):
                if context not in opened:
                    problems.append(
                        file.problem((*place, key), f"no intent opens the context {context!r}: {_near(opened)}")
                    )
        for other in (name, *intent.heard_as):
            if heard.setdefault(other, name) != name:
                message = f"{other!r} means the intent {heard[other]!r} already: leave it in one of the two"
                problems.append(file.problem((*place, "heard_as"), message))
    return problems


def _near(names: set[str]) -> str:
    return f"write one of {', '.join(sorted(names))}" if names else "add `opens` to an intent, or remove this"


def _texts(agent: Agent) -> Iterator[tuple[Place, str]]:
    form, parameters = agent.form, set(agent.form.parameters)
    texts: list[tuple[Place, str]] = [((key,), getattr(form, key) or "") for key in _TEXTS]
    texts.append((("return",), form.return_))
    yield from (
        (("offer",), message) for message in faults_of_template(form.offer, {*parameters, CHOICES}, "parameters")
    )
    texts += [(("no_input", "say", index), text) for index, text in enumerate(form.no_input.say)]
    texts += [(("no_match", "say", index), text) for index, text in enumerate(form.no_match.say)]
    for place, text in texts:
        yield from ((place, message) for message in faults_of_template(text, parameters, "parameters"))


def _of_intent(agent: Agent, name: str, intent: Intent) -> Iterator[tuple[Place, str]]:
    known = {*intent.slots, *intent.computed, *agent.form.parameters}
    for index, answer in enumerate(intent.response):
        place: Place = ("response", index)
        yield from ((place, message) for message in faults_of_template(answer.say, known, "slots and parameters"))
        for key, value in answer.when.items():
            yield from ((place, message) for message in faults_of_condition(agent, intent, key, value))
    for key, value in intent.fulfil_when.items():
        yield from ((("fulfil_when",), message) for message in faults_of_condition(agent, intent, key, value))
    if intent.fulfil_when and not (intent.fulfilment and intent.response):
        yield ("fulfil_when",), "`fulfil_when` needs a `fulfilment`, and a `response` for all other values: add them"
    if intent.response and all(answer.when for answer in intent.response):
        yield ("response",), "every response has a `when`: add a last one without, for all other values"
    if not intent.response and not intent.fulfilment and intent.then == "continue":
        yield (), f"the intent {name!r} says nothing and does nothing: add a `response` or a `fulfilment`"
    for key in ("confirm", "help"):
        yield from (
            ((key,), message)
            for message in faults_of_template(getattr(intent, key) or "", known, "slots and parameters")
        )
    yield from circles_of(intent)
    yield from faults_of_computed(agent, intent, name)
    yield from faults_of_items(agent, agent.form.intents[name])
    for shared in sorted(intent.slots.keys() & agent.form.parameters.keys()):
        yield ("slots", shared), f"{shared!r} is a parameter as well: rename one of the two"
    if name not in agent.sentences and not intent.heard_as and not intent.follows and name != agent.form.fallback:
        yield (), f"nothing leads to the intent {name!r}: add sentences/{name}.txt, or `heard_as`"
    items = agent.items_of(name)
    for slot_name, slot in intent.slots.items():
        own: Place = ("slots", slot_name)
        if items is not None and slot_name in items.parts:
            own = ("slots", items.name, *own)
        for key, value in slot.when.items():
            yield from (((*own, "when"), message) for message in faults_of_condition(agent, intent, key, value))
        yield from (((*own, *inner), message) for inner, message in _of_slot(agent, known, slot_name, slot))


def _of_slot(agent: Agent, known: set[str], name: str, slot: Slot) -> Iterator[tuple[Place, str]]:
    closed = slot.type == CLOSED
    values = agent.values.get(slot.values or name) if closed else None
    if closed and values is None:
        file = f"values/{slot.values or name}.txt"
        yield (), f"the closed slot {name!r} has no value list that can be read: write {file}, one value a line"
    if not closed and (slot.values or slot.choices):
        yield (), "`values` and `choices` belong to closed slots: write `type: closed`, or remove them"
    if slot.required and not slot.prompt:
        yield (), f"the slot {name!r} is required, but nothing asks for it: add a `prompt`"
    if slot.prompt and not slot.required:
        yield ("prompt",), f"the slot {name!r} is optional and never asked for: write `required: true`, or remove this"
    if slot.default is not None and values is not None and slot.default not in values.values:
        listed = ", ".join(values.values[:10])
        yield ("default",), f"{slot.default!r} is no value of {name!r}: write one of {listed}"
    if slot.default is not None and slot.type == ValueKind.NUMBER.value and not _NUMBER.fullmatch(slot.default):
        yield ("default",), f"{slot.default!r} is no number: write figures, such as 1 or 2.5, in quotes"
    yield from (((key,), fault) for key, fault in faults_of(slot))
    if slot.when and not slot.required:
        yield ("when",), "`when` tells when a required slot is asked for: write `required: true`, or remove it"
    for index, prompt in enumerate(slot.prompt):
        for message in faults_of_template(prompt, {*known, CHOICES}, "slots and parameters"):
            yield ("prompt", index), message
    for message in faults_of_template(slot.help or "", {*known, CHOICES}, "slots and parameters"):
        yield ("help",), message
