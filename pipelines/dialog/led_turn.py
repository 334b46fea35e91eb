"""Effect of a language model's lead on a dialog, under the rules of every turn."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.actions import Say
from pipelines.data.dialog.events import Understood
from pipelines.data.dialog.state import Filled, Form
from pipelines.data.understanding import Understanding
from pipelines.dialog.agent.form import ITEMS
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.control_words import asks_for_human, control_of, is_whole, leaves
from pipelines.dialog.intent_start import ask_again, begin, refuse_later, take, understood
from pipelines.dialog.item_reading import read_form_turn
from pipelines.dialog.next_step import listening, question
from pipelines.dialog.slot_values import TurnReading
from pipelines.dialog.wishes import denies, is_for_later
from pipelines.text.values import find_values

if TYPE_CHECKING:
    from pipelines.data.dialog.lead import Lead, Wish
    from pipelines.data.dialog.state import State
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step


_ANY_DAY = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""Items have no days."""


def needs_lead(agent: Agent, turn: DialogTurn) -> bool:
    """Return whether a model leads a turn, which the dialog has previewed by itself.

    Words of control, answers to a confirmation, bare answers to a question, and all of an intent with sensitive slots
    are the dialog's own: a model neither hears nor answers them.
    """
    before, after, event = turn.before, turn.after, turn.event
    form, words = before.form, words_of(event.text) if isinstance(event, Understood) else ()
    if not isinstance(event, Understood) or not words or before.ended or before.fulfilling:
        return False
    if control_of(words) is not None or asks_for_human(words) or leaves(words):
        return False
    if form is None:
        return True
    if any(slot.sensitive for slot in agent.slots_of(form.intent).values()):
        return False
    if form.confirming or form.changing:
        is_done = after.fulfilling or after.form is None or len(after.suspended) < len(before.suspended)
        return not (is_whole(words) or (form.confirming and (is_done or turn.fulfilled)))
    reading = read_form_turn(agent, form, event)
    return not (reading.is_bare and form.asked in reading.filled)


def follow(agent: Agent, state: State, event: Understood, lead: Lead) -> Step:
    """Do what a model leads to: its first wish, or its words and the open question."""
    if lead.wishes:
        first, *others = lead.wishes
        waiting = tuple(of_wish(event, wish) for wish in others)
        return take_wish(agent, replace(state, wishes=(*waiting, *state.wishes)), of_wish(event, first), first)
    form = state.form
    asks_itself = lead.say.rstrip().endswith("?") and not (form is not None and form.confirming)
    asked = () if asks_itself else question(agent, state)
    return understood((state, (Say(lead.say), *asked, listening(agent, state))))


def of_wish(event: Understood, wish: Wish) -> Understood:
    """Return a turn with one of the model's wishes."""
    meant = Understanding(wish.intent, 1.0, values=event.understanding.values)
    return dataclasses.replace(event, understanding=meant, lead=wish, answer="", passage="")


def take_wish(agent: Agent, state: State, event: Understood, wish: Wish) -> Step:
    """Begin the intent of a wish, or take its values where it is under way."""
    form = state.form
    if form is None or form.intent != wish.intent:
        return begin(agent, state, wish.intent, event, reading_of(agent, Form(wish.intent), event, wish))
    reading = reading_of(agent, form, event, wish)
    if not reading.changes(form):
        return ask_again(agent, state)
    if is_for_later(agent, form.intent, event):
        return refuse_later(agent, state)
    return understood(take(agent, state, form, reading, event.today))


def reading_of(agent: Agent, form: Form, event: Understood, wish: Wish) -> TurnReading:
    """Return a wish as what was read in its turn.

    Values of sensitive slots, which the model is not told of, and what is denied are the dialog's own reading.
    """
    own, slots = read_form_turn(agent, form, event), agent.slots_of(form.intent)
    listed = next((value[0] for name, value in wish.slots.items() if value and slots[name].type == ITEMS), "")
    if listed:
        meant = Understanding(wish.intent, 1.0, values=find_values(listed, _ANY_DAY))
        own = read_form_turn(agent, form, dataclasses.replace(event, text=listed, understanding=meant))
    filled = {name: value for name, value in own.filled.items() if slots[name].sensitive}
    filled |= {
        name: Filled(*value) for name, value in wish.slots.items() if value is not None and slots[name].type != ITEMS
    }
    denied = frozenset(name for name, value in wish.slots.items() if value is None)
    is_denied = own.is_denial_unread or bool(own.unclear) or denies(event.text)
    return TurnReading(filled, denied, is_denial_unread=is_denied, items=own.items, is_listed=own.is_listed)
