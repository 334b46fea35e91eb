"""Checks of a form by fulfilments, while it is filled."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.actions import Say
from pipelines.data.dialog.events import MAX_OFFERS
from pipelines.data.values import ValueKind
from pipelines.dialog.agent.form import CLOSED
from pipelines.dialog.next_step import finish, listening, proceed, question, resume, speech

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed
    from pipelines.data.dialog.state import Form, State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step

MAX_REFUSALS = 5
"""Of the checks of one form; then the agent gives up."""
_FORMS = {
    ValueKind.TIME.value: re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d"),
    ValueKind.DATE.value: re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"),
    ValueKind.NUMBER.value: re.compile(r"-?\d+(?:\.\d+)?"),
}


def take_check(agent: Agent, state: State, form: Form, event: Fulfilled) -> Step:
    """Go on with a form that has passed its check."""
    said = (Say(event.say),) if event.say else ()
    return proceed(agent, replace(state, form=replace(form, checking="")), said)


def refuse(agent: Agent, state: State, form: Form, event: FulfilmentFailed) -> Step:
    """Ask again for a slot that a check or fulfilment refuses, with its offers."""
    said = (Say(event.say),) if event.say else speech(agent, state, agent.form.failed)
    slot = agent.slots_of(form.intent).get(event.ask_again)
    refusals = form.refusals + 1
    if slot is None or event.ask_again not in form.slots:
        return resume(agent, replace(state, form=None), said)
    if refusals > MAX_REFUSALS:
        then = agent.form.no_match.then
        return (
            finish(agent, state, then, said) if then != "continue" else resume(agent, replace(state, form=None), said)
        )
    slots = {name: filled for name, filled in form.slots.items() if name != event.ask_again}
    offers = offers_for(agent, form.intent, event.ask_again, event.offers)
    form = replace(
        form,
        slots=slots,
        asked=event.ask_again,
        confirming=False,
        checking="",
        refusals=refusals,
        choices=offers,
        is_offered=bool(offers),
    )
    state = replace(state, form=form)
    asks = said[-1].text.rstrip().endswith("?") if said else False
    return state, (*said, *(() if asks else question(agent, state)), listening(agent, state))


def offers_for(agent: Agent, intent: str, name: str, offers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the offers that are values of a slot, each once."""
    slot = agent.slots_of(intent)[name]
    values = agent.values_of(name, slot)
    if slot.type == CLOSED and values is not None:
        known = (values.value_of(one) for one in offers)
        return tuple(dict.fromkeys(one for one in known if one is not None))[:MAX_OFFERS]
    form = _FORMS.get(slot.type)
    fitting = (
        one for one in offers if (form.fullmatch(one) if form is not None else one.strip() and one.isprintable())
    )
    return tuple(dict.fromkeys(fitting))[:MAX_OFFERS]
