"""Next step of an agent: ask, confirm, fulfil, respond or return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.actions import Action, End, Fulfil, Listen, Say
from pipelines.data.dialog.state import Context, Filled, Form, State
from pipelines.dialog.agent.conditions import holds
from pipelines.dialog.agent.form import ITEMS
from pipelines.dialog.agent.template_checks import CHOICES
from pipelines.dialog.agent.templates import fill, names_in
from pipelines.dialog.form_values import choices_within, computed, values_of
from pipelines.dialog.items import settled
from pipelines.dialog.open_checks import open_check
from pipelines.text.language import worded
from pipelines.text.values.by_language import said_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent

MAX_SPOKEN_VALUES = 10
"""Values of a list that are told as choices."""

Step = tuple[State, tuple[Action, ...]]


def proceed(agent: Agent, state: State, before: tuple[Action, ...] = ()) -> Step:
    """Go on with the present intent: next slot, confirmation or fulfilment.

    Args:
        agent: by which the dialog is held.
        state: with the form as it is now.
        before: what is said first.
    """
    form = state.form
    if form is None:
        return state, (*before, listening(agent, state))
    intent, form = agent.intents[form.intent], settled(agent, state, form)
    items = agent.items_of(form.intent)
    parts = items.parts if items is not None else {}
    defaults = {
        name: Filled(slot.default, slot.default)
        for name, slot in intent.slots.items()
        if name not in parts and slot.default is not None and not slot.required and name not in form.slots
    }
    form = replace(form, slots={**form.slots, **defaults})
    missing = missing_slot(agent, state, form)
    while (
        missing and intent.slots[missing].within and len(only := choices_of(agent, replace(form, asked=missing))) == 1
    ):
        slots = {**form.slots, missing: Filled(only[0], only[0])}
        form = settled(agent, state, replace(form, slots=slots))
        missing = missing_slot(agent, state, form)
    if (due := open_check(agent, form))[0]:
        return _check(agent, replace(state, form=form), form, *due, before)
    confirming = not missing and intent.confirm is not None
    form = replace(form, asked=missing, confirming=confirming, changing=False)
    if missing or confirming:
        state = replace(state, form=form)
        return state, (*before, *question(agent, state), listening(agent, state))
    return fulfil(agent, replace(state, form=form), before)


def _check(agent: Agent, state: State, form: Form, name: str, mark: str, before: tuple[Action, ...]) -> Step:
    """Ask a check, before the form goes on."""
    number = state.next_fulfilment
    form = replace(form, asked="", confirming=False, changing=False, checking=name)
    form = replace(form, checked={**form.checked, name: mark}, choices=(), is_offered=False)
    state = replace(state, form=form, fulfilling=number, next_fulfilment=number + 1, checks=state.checks + 1)
    return state, (*before, fulfilment(agent, state))


def missing_slot(agent: Agent, state: State, form: Form) -> str:
    """Return the first required slot without a value; "" where there is none."""
    items = agent.items_of(form.intent)
    parts = items.parts if items is not None and form.item < 0 else {}
    for name, slot in agent.slots_of(form.intent).items():
        is_open = slot.required and name not in form.slots and name not in parts
        if slot.type == ITEMS and form.items and form.item < 0:
            is_open = bool(slot.more) and not form.is_listed
        if is_open and _fits(agent, state, form, slot.when):
            return name
    return ""


def fulfil(agent: Agent, state: State, before: tuple[Action, ...] = ()) -> Step:
    """Ask for the fulfilment of the intent under way, or completes one that has none."""
    form = state.form
    assert form is not None
    intent = agent.intents[form.intent]
    if intent.fulfilment is None or not _fits(agent, state, form, intent.fulfil_when):
        return complete(agent, state, before)
    number = state.next_fulfilment
    form = replace(form, confirming=False, asked="")
    state = replace(state, form=form, fulfilling=number, next_fulfilment=number + 1)
    return state, (*before, fulfilment(agent, state))


def fulfilment(agent: Agent, state: State) -> Fulfil:
    """Return what is asked for by the fulfilment that runs."""
    form = state.form
    assert form is not None
    intent = agent.intents[form.intent]
    name = form.checking or intent.fulfilment
    assert name is not None
    return Fulfil(
        state.fulfilling,
        name,
        form.intent,
        {name: filled.value for name, filled in form.slots.items()} | computed(agent, state, form),
        frozenset(name for name, slot in intent.slots.items() if slot.sensitive),
        state.parameters,
        state.lines,
        state.passage,
        bool(form.checking),
    )


def complete(agent: Agent, state: State, before: tuple[Action, ...] = (), say: str = "") -> Step:
    """Respond to a finished intent, open its contexts, resume the suspended one.

    Args:
        agent: by which the dialog is held.
        state: with the form that is done.
        before: what is said first.
        say: said in place of the response; "": the response.
    """
    form = state.form
    assert form is not None
    intent = agent.intents[form.intent]
    response = (Say(say, _is_sensitive(intent, say)),) if say else _response(agent, state, form, intent)
    done = intent.fulfilment is None or _fits(agent, state, form, intent.fulfil_when)
    opened = tuple(
        Context(name, form.intent, form.slots, life.turns, None if life.seconds is None else state.now + life.seconds)
        for name, life in intent.opens.items()
        if done
    )
    kept = tuple(context for context in state.contexts if context.name not in intent.opens)
    known = {name: form.slots[name] for name, slot in intent.slots.items() if slot.remember and name in form.slots}
    state = replace(state, form=None, contexts=(*kept, *opened), known={**state.known, **known})
    if intent.then != "continue":
        return finish(agent, state, intent.then, (*before, *response))
    return resume(agent, state, (*before, *response))


def resume(agent: Agent, state: State, before: tuple[Action, ...] = ()) -> Step:
    """Return to the intent that was interrupted last, if there is one."""
    if not state.suspended:
        return replace(state, form=None), (*before, listening(agent, replace(state, form=None)))
    state = replace(state, form=state.suspended[-1], suspended=state.suspended[:-1])
    return proceed(agent, state, (*before, *speech(agent, state, agent.form.return_)))


def finish(agent: Agent, state: State, reason: str, before: tuple[Action, ...] = ()) -> Step:
    """End the dialog with its last words, unless they were said already."""
    text = agent.form.hand_over if reason == "hand_over" else agent.form.end
    if any(isinstance(action, Say) and text.lower() in action.text.lower() for action in before):
        text = ""
    ended = replace(state, form=None, suspended=(), contexts=(), held=(), wishes=(), fulfilling=0, ended=reason)
    return ended, (*before, *speech(agent, state, text), End(reason))


def question(agent: Agent, state: State) -> tuple[Say, ...]:
    """Return the open question; nothing while any wish is awaited."""
    form = state.form
    if form is None:
        return ()
    intent = agent.intents[form.intent]
    if form.choices:
        if form.is_offered:
            return speech(agent, state, agent.form.offer)
        slot = intent.slots.get(form.asked)
        text = worded("which", "Do you mean {choices}?", choices=spoken_list(form.choices))
        return (Say(text, slot is not None and slot.sensitive),)
    if form.asked:
        slot = intent.slots[form.asked]
        prompts = slot.more if slot.more and form.items else slot.prompt
        return speech(agent, state, prompts[min(form.tries.get(form.asked, 0), len(prompts) - 1)]) if prompts else ()
    if form.confirming and intent.confirm:
        return speech(agent, state, intent.confirm)
    return speech(agent, state, agent.form.change) if form.changing else ()


def ask_anew(agent: Agent, state: State, form: Form, slot: str) -> Step:
    """Ask anew for a slot that the caller wants to change."""
    if agent.slots_of(form.intent)[slot].type == ITEMS:
        form = replace(form, is_listed=False)
    kept = {name: value for name, value in form.slots.items() if name != slot}
    return proceed(agent, replace(state, form=replace(form, slots=kept), misses=0, unheard=False))


def ask_what_to_change(agent: Agent, state: State, form: Form) -> Step:
    """Ask for what is wrong in what was to be confirmed."""
    state = replace(state, form=replace(form, confirming=False, changing=True, asked=""), misses=0, unheard=False)
    return state, (*question(agent, state), Listen(no_input_seconds=agent.form.no_input.after_seconds))


def speech(agent: Agent, state: State, template: str) -> tuple[Say, ...]:
    """Return a filled text, if it is not empty."""
    form = state.form
    values = dict(state.parameters)
    sensitive = False
    if form is not None:
        intent = agent.intents[form.intent]
        values |= {name: said_of(filled.said) for name, filled in form.slots.items()} | computed(agent, state, form)
        values[CHOICES] = spoken_list(choices_of(agent, form))
        sensitive = _is_sensitive(intent, template)
    text = fill(template, values)
    return (Say(text, sensitive),) if text else ()


def choices_of(agent: Agent, form: Form) -> tuple[str, ...]:
    """Return the values that the slot which is asked for may get, in their order."""
    if form.choices or not form.asked:
        return form.choices
    known = {name: filled.value for name, filled in form.slots.items()}
    return choices_within(agent, form.intent, form.asked, known)


def listening(agent: Agent, state: State) -> Listen:
    """Return what the agent waits for."""
    patience = agent.form.no_input
    given_up = state.silences > patience.times
    seconds = None if given_up else patience.after_seconds
    if state.form is None:
        return Listen(no_input_seconds=seconds)
    return Listen(state.form.asked, choices_of(agent, state.form), state.form.confirming, seconds)


def spoken_list(values: tuple[str, ...]) -> str:
    """Return values as they are read out: "small, medium or large"."""
    values = tuple(said_of(value) for value in values[:MAX_SPOKEN_VALUES])
    return f"{', '.join(values[:-1])} {worded('or', 'or')} {values[-1]}" if len(values) > 1 else "".join(values)


def _is_sensitive(intent: Intent, template: str) -> bool:
    return any(slot.sensitive and name in names_in(template) for name, slot in intent.slots.items())


def _response(agent: Agent, state: State, form: Form, intent: Intent) -> tuple[Say, ...]:
    said = (answer.say for answer in intent.response if _fits(agent, state, form, answer.when))
    return speech(agent, state, next(said, ""))


def _fits(agent: Agent, state: State, form: Form, when: Mapping[str, str]) -> bool:
    """Return whether conditions hold for the values of a form."""
    return not when or holds(when, values_of(agent, state, form))
