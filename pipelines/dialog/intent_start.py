"""Beginning of an intent, with details of this turn or an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.state import Form
from pipelines.data.understanding import NO_INTENT
from pipelines.dialog.agent.allowed import refusal, refused_by
from pipelines.dialog.form_values import unfit_slots
from pipelines.dialog.item_reading import read_form_turn
from pipelines.dialog.next_step import listening, proceed, question, speech
from pipelines.dialog.no_match import miss
from pipelines.dialog.wishes import is_contradictory, is_for_later, is_taken_back, target_of
from pipelines.stages.questions import requests

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Filled, State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step
    from pipelines.dialog.slot_values import TurnReading

SURE_CONFIDENCE = 0.75
"""From here on an intent is meant, though a question is answered by documents, or the answer to a question is in it."""
_OF_CONFIDENCE = 0.8
"""What is left of the confidence in an intent beside the score of an answer to a question."""
MAX_SUSPENDED = 3
"""Intents that digressions interrupt; the oldest is forgotten."""


def target_now(agent: Agent, state: State, event: Understood) -> str | None:
    """Return the intent of a turn that may begin now; None: it has none."""
    name = target_of(agent, event.understanding, event.text)
    if name is None:
        return None
    needs = agent.intents[name].needs
    return name if not needs or any(context.name in needs for context in state.contexts) else None


def is_sure(agent: Agent, state: State, event: Understood) -> bool:
    """Return whether a turn has an intent for sure."""
    return target_now(agent, state, event) is not None and event.understanding.confidence >= SURE_CONFIDENCE


def yields(event: Understood) -> bool:
    """Return whether the answer of documents gives way to the turn's intent.

    "Could you leave my parcel with the neighbour" is a wish, though documents tell of neighbours.
    """
    understanding = event.understanding
    least = understanding.confidence * (1.0 if requests(event.text) else _OF_CONFIDENCE)
    return understanding.intent != NO_INTENT and event.answer_score < least


def begin(agent: Agent, state: State, intent: str, event: Understood, reading: TurnReading | None = None) -> Step:
    """Begin an intent with the turn's slots, unless withdrawn or meant for later.

    Args:
        agent: by which the dialog is held.
        state: before the turn.
        intent: that begins.
        event: the turn.
        reading: slot values of the turn; None: they are read from its text.
    """
    if is_taken_back(agent, intent, event.text):
        return understood((state, (*speech(agent, state, agent.form.cancelled), listening(agent, state))))
    slots = agent.slots_of(intent)
    form = Form(
        intent, {name: filled for name, filled in state.known.items() if name in slots and slots[name].remember}
    )
    reading = reading or read_form_turn(agent, form, event)
    if is_for_later(agent, intent, event):
        return refuse_later(agent, state)
    described = agent.intents[intent]
    is_acted_on = described.fulfilment is not None and described.confirm is None
    if is_acted_on and (reading.is_denial_unread or is_contradictory(event.text)):
        return miss(agent, state)
    if any(not described.slots[name].required for name in reading.unclear):
        return miss(agent, state)
    if state.form is not None:
        suspended = (*state.suspended, replace(state.form, choices=()))[-MAX_SUSPENDED:]
        state = replace(state, suspended=suspended)
    return understood(take(agent, state, form, reading, event.today))


def take(agent: Agent, state: State, form: Form, reading: TurnReading, today: str = "") -> Step:
    """Take the turn's slot values and go on; ask about unclear or refused ones.

    Args:
        agent: by which the dialog is held.
        state: before the turn.
        form: of the intent under way.
        reading: of the turn.
        today: date of the caller, ISO 8601; "": not known.
    """
    form, refused_items = _with_items(agent, form, reading, today)
    slots, refused = _allowed(agent, form, _changed(form, reading), today)
    refused = (*refused, *refused_items)
    before = tuple(it for text in refused for it in speech(agent, replace(state, form=form), text))
    if reading.choosing:
        slots.pop(reading.choosing, None)
        form = replace(
            form,
            slots=slots,
            asked=reading.choosing,
            choices=reading.choices,
            is_offered=False,
            confirming=False,
            changing=False,
        )
        return ask_again(agent, replace(state, form=form))
    return proceed(agent, replace(state, form=replace(form, slots=slots, choices=())), before)


def _with_items(agent: Agent, form: Form, reading: TurnReading, today: str) -> tuple[Form, tuple[str, ...]]:
    """Return a form with the turn's items, and the words that refuse values."""
    items = agent.items_of(form.intent)
    if items is None:
        return form, ()
    if reading.is_listed:
        form = replace(form, is_listed=True)
    if reading.items is None:
        return form, ()
    kept: list[dict[str, Filled]] = []
    said: list[str] = []
    for one in reading.items:
        refused = {name: it for name, filled in one.items() if (it := refusal(items.parts[name], filled.value, today))}
        unfit = _unfit(agent, form, {**form.slots, **one})
        refused |= {name: words for name, words in unfit.items() if name in one}
        said += refused.values()
        kept.append({name: filled for name, filled in one.items() if name not in refused})
    slots = {name: filled for name, filled in form.slots.items() if name not in items.parts}
    is_listed = form.is_listed and bool(kept)
    return replace(form, slots=slots, items=tuple(kept), item=-1, is_listed=is_listed), tuple(dict.fromkeys(said))


def _allowed(
    agent: Agent, form: Form, slots: dict[str, Filled], today: str
) -> tuple[dict[str, Filled], tuple[str, ...]]:
    """Return the slots without values that are refused, and what is said to these."""
    described = agent.slots_of(form.intent)
    refused = {
        name: said
        for name, filled in slots.items()
        if form.slots.get(name) != filled and (said := refusal(described[name], filled.value, today))
    }
    refused |= _unfit(agent, form, {name: filled for name, filled in slots.items() if name not in refused})
    return {name: filled for name, filled in slots.items() if name not in refused}, tuple(
        dict.fromkeys(refused.values())
    )


def _unfit(agent: Agent, form: Form, slots: dict[str, Filled]) -> dict[str, str]:
    """Return slots with values that do not go with others, and the refusals."""
    described = agent.slots_of(form.intent)
    return {name: refused_by(described[name].allow) for name in unfit_slots(agent, form.intent, slots)}


def continued(agent: Agent, state: State, event: Understood, target: str | None, *, stands_alone: bool) -> Step | None:
    """Repeat an intent with another value, "and on Sundays?"; None without context.

    Args:
        agent: by which the dialog is held.
        state: before the turn.
        event: the turn.
        target: the intent that the turn has of itself; None: any that may follow. It does not count where the turn
            says nothing beside a value: "no, the bedroom".
        stands_alone: whether nothing in the turn says that it goes on with the one before.
    """
    for context in reversed(state.contexts):
        followers = [name for name, intent in agent.intents.items() if context.name in intent.follows]
        for name in sorted(followers, key=lambda follower: follower != context.intent):
            known = {key: value for key, value in context.slots.items() if key in agent.slots_of(name)}
            form = Form(name, known)
            reading = read_form_turn(agent, form, event)
            if (stands_alone or target not in {None, name}) and not reading.is_bare:
                continue
            if reading.filled or reading.choosing or reading.denied & known.keys():
                if is_for_later(agent, name, event):
                    return refuse_later(agent, state)
                return take(agent, state, form, reading, event.today)
    return None


def refuse_later(agent: Agent, state: State) -> Step:
    """Refuse a wish for another time, which is not carried out now either."""
    said = speech(agent, state, agent.form.only_now)
    return understood((state, (*said, *question(agent, state), listening(agent, state))))


def ask_again(agent: Agent, state: State) -> Step:
    """Repeat the question to a turn that was understood."""
    return understood((state, (*question(agent, state), listening(agent, state))))


def _changed(form: Form, reading: TurnReading) -> dict[str, Filled]:
    kept = {name: value for name, value in form.slots.items() if name not in reading.denied}
    return {**kept, **reading.filled}


def understood(taken: Step) -> Step:
    """Begin to count anew what is not understood."""
    state, actions = taken
    return replace(state, misses=0, unheard=False), actions
