"""Checks of fulfilments: one kind each, a permitted URL, known names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from pipelines.dialog.agent.fulfilments import KINDS, MAX_LED_INTENTS, SEARCH_TOOL
from pipelines.dialog.agent.templates import fault_of, names_in
from pipelines.dialog.agent.urls import fault_of_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent
    from pipelines.dialog.agent.fulfilments import Endpoint, Fulfilment, HomeAssistant, LeadingModel, McpTool
    from pipelines.dialog.agent.yaml_file import Place


def faults_of_fulfilments(agent: Agent) -> Iterator[tuple[Place, str]]:
    """Return what is wrong, with its place in ``agent.yaml``.

    An agent without ``fulfilments`` names them freely: the caller's program is told with the reply.
    """
    fulfilments, model = agent.form.fulfilments, agent.form.language_model
    if model is not None:
        yield from ((("language_model", *place), message) for place, message in _of_leader(agent, model))
    if not fulfilments:
        for name, intent in agent.intents.items():
            for check in intent.check:
                yield ("intents", name, "check", check), f"nothing carries {check!r} out: add it to `fulfilments`"
        return
    for name, intent in agent.intents.items():
        if intent.fulfilment is not None and intent.fulfilment not in fulfilments:
            near = difflib.get_close_matches(intent.fulfilment, fulfilments, 1)
            cure = f"write {near[0]!r}" if near else "add it there; `reply: {}` tells the caller's program"
            message = f"`fulfilments` has no {intent.fulfilment!r}: {cure}"
            yield ("intents", name, "fulfilment"), message
    for name, intent in agent.intents.items():
        yield from ((("intents", name, "check", check), fault) for check, fault in _of_checks(agent, name, intent))
    for name, fulfilment in fulfilments.items():
        place: Place = ("fulfilments", name)
        users = [it for it in agent.intents.values() if it.fulfilment == name or name in it.check]
        if not users:
            yield place, f"no intent has the fulfilment {name!r}: write `fulfilment: {name}` in one, or remove this"
        if len(fulfilment.kinds) != 1:
            yield place, f"the fulfilment {name!r} needs exactly one of {', '.join(KINDS)}: write one of them"
            continue
        for inner, message in _of_one(agent, fulfilment, users):
            yield (*place, fulfilment.kinds[0], *inner), message


def _of_checks(agent: Agent, name: str, intent: Intent) -> Iterator[tuple[str, str]]:
    """Yield the faults of the checks of an intent."""
    items = agent.items_of(name)
    own = [slot for slot in intent.slots if items is None or slot not in items.parts]
    for check, slots in intent.check.items():
        fulfilment = agent.form.fulfilments.get(check)
        if fulfilment is None:
            there = ", ".join(agent.form.fulfilments)
            yield check, f"`fulfilments` has no {check!r}: add it there, or write one of {there}"
        elif fulfilment.language_model is not None or fulfilment.kinds == ("reply",):
            yield check, f"{check!r} cannot tell whether values are right: write a webhook, tool or mcp"
        elif check == intent.fulfilment:
            yield check, f"{check!r} carries the intent out: give the check a fulfilment of its own"
        for slot in slots:
            if slot not in own:
                yield check, f"{slot!r} is no slot of the intent: write one of {', '.join(own)}"
        if not slots:
            yield (
                check,
                f"{check!r} checks nothing: write the slots that it needs, such as [{own[0] if own else 'day'}]",
            )


def _of_one(agent: Agent, fulfilment: Fulfilment, users: list[Intent]) -> Iterator[tuple[Place, str]]:
    if fulfilment.mcp is not None:
        yield from _of_mcp(agent, fulfilment.mcp, users)
    elif fulfilment.endpoint is not None:
        yield from _of_endpoint(fulfilment.endpoint, has_default=fulfilment.home_assistant is not None)
    if (
        fulfilment.reply is not None
        and fulfilment.kinds != ("reply",)
        and (fulfilment.endpoint is None or fulfilment.endpoint.url is not None)
    ):
        yield (), "`reply` beside it holds where the variable of `url_env` is not set: write that, or remove `reply`"
    if fulfilment.home_assistant is not None:
        yield from _of_home(agent, fulfilment.home_assistant, users)


def _of_leader(agent: Agent, model: LeadingModel) -> Iterator[tuple[Place, str]]:
    yield from _of_endpoint(model, has_default=False)
    if len(agent.intents) > MAX_LED_INTENTS:
        yield (), f"{len(agent.intents)} intents: a language model takes {MAX_LED_INTENTS} as its tools, remove some"
    if SEARCH_TOOL in agent.intents:
        yield (), f"the intent {SEARCH_TOOL!r} is called like a tool of the language model: rename it"


def _of_endpoint(endpoint: Endpoint, *, has_default: bool) -> Iterator[tuple[Place, str]]:
    if not has_default and (endpoint.url is None) == (endpoint.url_env is None):
        yield (), "exactly one of `url` and `url_env` is needed: write one of them"
    if endpoint.url is not None and (fault := fault_of_url(endpoint.url, allow_http=endpoint.allow_http)):
        yield ("url",), fault


def _of_mcp(agent: Agent, tool: McpTool, users: list[Intent]) -> Iterator[tuple[Place, str]]:
    if sum(way is not None for way in (tool.url, tool.url_env, tool.command_env)) != 1:
        yield (), "exactly one of `url`, `url_env` and `command_env` is needed: write one of them"
    elif tool.command_env is None:
        yield from _of_endpoint(tool, has_default=False)
    elif tool.headers_env:
        yield ("headers_env",), "a program gets no headers: name its `variables`, or write a URL"
    if tool.variables and tool.command_env is None:
        yield ("variables",), "a URL gets no variables: write `headers_env`, or `command_env`"
    yield from _of_texts(agent, [(("arguments", key), one) for key, one in tool.arguments.items()], users)
    if tool.into is not None and any(tool.into not in intent.slots for intent in users):
        yield ("into",), f"{tool.into!r} is no slot of the intent: add it there, with `type: text`"


def _of_texts(agent: Agent, texts: list[tuple[Place, Any]], users: list[Intent]) -> Iterator[tuple[Place, str]]:
    for place, text in texts:
        if not isinstance(text, str):
            continue
        if fault := fault_of(text):
            yield place, fault
            continue
        for intent in users:
            known = {*intent.slots, *agent.form.parameters}
            for name in sorted(names_in(text) - known):
                yield place, f"{{{name}}} names nothing: write one of {', '.join(sorted(known)) or 'the slots you add'}"


def _of_home(agent: Agent, home: HomeAssistant, users: list[Intent]) -> Iterator[tuple[Place, str]]:
    texts: list[tuple[Place, Any]] = [(("data", key), one) for key, one in home.data.items()]
    if home.entity is not None:
        texts.append((("entity",), home.entity))
    yield from _of_texts(agent, texts, users)
    if home.service is not None:
        for key in ("into", "attribute"):
            if getattr(home, key) is not None:
                yield (key,), "a service is called, and nothing is read: remove this, or `service`"
        return
    if home.entity is None or home.into is None:
        yield (), "write the `service` that is called, or the `entity` that is read and the slot `into` which it goes"
    elif any(home.into not in intent.slots for intent in users):
        yield ("into",), f"{home.into!r} is no slot of the intent: add it there, with `type: text`"
    if home.data:
        yield ("data",), "only a service takes data: remove this, or write the `service`"
