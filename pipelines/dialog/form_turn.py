"""Effect of a turn within an intent: values, an answer, another wish."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.actions import Say
from pipelines.data.dialog.state import Filled
from pipelines.dialog.agent.form import TEXT
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.control_words import (
    Assent,
    Control,
    assent_of,
    begins_to_wait,
    is_complete,
    is_whole,
)
from pipelines.dialog.intent_start import (
    SURE_CONFIDENCE,
    ask_again,
    begin,
    is_sure,
    refuse_later,
    take,
    target_now,
    understood,
    yields,
)
from pipelines.dialog.item_reading import read_form_turn
from pipelines.dialog.items import is_listing
from pipelines.dialog.next_step import (
    ask_anew,
    ask_what_to_change,
    fulfil,
    listening,
    proceed,
    question,
)
from pipelines.dialog.no_match import miss
from pipelines.dialog.slot_values import slot_named
from pipelines.dialog.steering import steer
from pipelines.dialog.wishes import is_for_later
from pipelines.stages.questions import OPENING, PROPOSING, asks, question_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Form, State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.value_list import Word
    from pipelines.dialog.next_step import Step
    from pipelines.dialog.slot_values import TurnReading

_OFFER = re.compile(
    r"\b(?:shall i|should i|may i|can i|want me to|like me to|i will|i'll)(?: now)? (\w+)", re.IGNORECASE
)
"""Questions with an act that may be said again in place of a yes: "shall I unlock the door?"."""
_KEEPING = re.compile(r"\b(?:stays?|remains?|keeps?|still)\b", re.IGNORECASE)
"""Words of a value that is the same as before: "the time stays half past nine"."""
_PARTS = re.compile(r"[,.;]|\bbut\b|\band\b", re.IGNORECASE)
SURE_ANSWER = 0.6
"""Score of an answer from which on a turn that has the value that is asked for is a question all the same."""
FAIR_CONFIDENCE = 0.6
"""From here on another intent interrupts the one under way."""


def form_turn(agent: Agent, state: State, form: Form, event: Understood) -> Step:
    """Take a turn within an intent: another wish, values, or an answer."""
    reading = read_form_turn(agent, form, event)
    words = words_of(event.text.replace("%", " percent"))
    is_question = _is_question(form, event, reading)
    if (aside := _aside(agent, state, form, event, reading, is_question=is_question)) is not None:
        return aside
    if (
        form.is_offered
        and form.choices
        and is_whole(words)
        and (answered := _to_offer(agent, state, form, words)) is not None
    ):
        return answered
    is_answerable = form.confirming or form.changing or is_listing(agent, form)
    assent = _assent(agent, state, form, words) if is_answerable else None
    if assent is Assent.NO and _asks_back(event.text, reading):
        assent = Assent.UNCLEAR
    if assent is not None and is_whole(words) and not (_is_of_list(agent, form, reading) or reading.denied):
        # "A hundred percent" is a yes, and no percentage.
        return _answered(agent, state, form, event, assent)
    target = target_now(agent, state, event)
    # "The date" after "what shall I change?" is no question for the opening hours.
    names_change = form.changing and bool(slot_named(agent, form, event.text))
    least = SURE_CONFIDENCE if reading.changes(form) else FAIR_CONFIDENCE
    is_weak = event.understanding.confidence < least
    if target is not None and target != form.intent and not (reading.is_bare or names_change or is_weak):
        return begin(agent, state, target, event)
    changed = None if is_question else _changed(agent, state, form, event, reading)
    is_kept = assent in {None, Assent.UNCLEAR} or _KEEPING.search(event.text) is not None
    if changed is None and form.confirming and not is_question and is_kept and reading.filled:
        # The same again is no yes, but it is understood.
        changed = ask_again(agent, state)
    if changed is None and (assent is not None or names_change):
        changed = _answered(agent, state, form, event, assent or Assent.NO)
    return changed if changed is not None else _answer_or_miss(agent, state, event)


def _to_offer(agent: Agent, state: State, form: Form, words: Sequence[Word]) -> Step | None:
    """Take yes and no to the values that a check offers; None: it is neither."""
    assent = assent_of(words)
    if assent is Assent.YES and len(form.choices) == 1:
        slots = {**form.slots, form.asked: Filled(form.choices[0], form.choices[0])}
        return understood(proceed(agent, replace(state, form=replace(form, slots=slots, choices=()))))
    if assent is Assent.NO:
        return miss(agent, replace(state, form=replace(form, choices=())))
    return None


def _asks_back(text: str, reading: TurnReading) -> bool:
    """Return whether a turn asks back, and denies nothing: "if I don't come?"."""
    is_bare_no = assent_of(words_of(text)[:1]) is Assent.NO
    return OPENING.match(text) is not None and not (is_bare_no or reading.filled or reading.denied)


def _is_question(form: Form, event: Understood, reading: TurnReading) -> bool:
    """Return whether a turn asks what documents answer, and proposes nothing."""
    is_asking = bool(event.answer) and not (yields(event) or reading.is_bare) and asks(event.text)
    # "What do you think, it hurts" is an answer; of "at ten, and what does it cost" both are taken.
    is_told = form.asked in reading.filled or (form.confirming and reading.changes(form))
    is_weak = event.answer_score < SURE_ANSWER and not event.text[: -len(question_in(event.text))].strip(" ,.;")
    return is_asking and not (is_told and (is_weak or PROPOSING.match(event.text)))


def _aside(
    agent: Agent, state: State, form: Form, event: Understood, reading: TurnReading, *, is_question: bool
) -> Step | None:
    """Answer a question, or wait; None: the turn is about the form."""
    words = words_of(event.text)
    slot = agent.slots_of(form.intent).get(form.asked)
    # Of a text "one moment" would be a part.
    given = reading.filled.keys() - ({form.asked} if slot is not None and slot.type == TEXT else set())
    target = target_now(agent, state, event)
    is_other = target not in {None, form.intent} and event.understanding.confidence >= FAIR_CONFIDENCE
    if begins_to_wait(words) and not (given or reading.denied or reading.choosing or is_other):
        return steer(agent, state, Control.WAIT, event)
    if not is_question or is_whole(words) or (form.confirming and reading.filled):
        return None
    if (changed := _changed_before(agent, state, form, event)) is not None:
        return changed
    is_own = target == form.intent
    return _answer_or_miss(agent, state, event) if is_own or not is_sure(agent, state, event) else None


def _changed_before(agent: Agent, state: State, form: Form, event: Understood) -> Step | None:
    """Take the values before a question: "tomorrow, and what does it cost?"."""
    head = event.text[: len(event.text) - len(question_in(event.text))]
    if not head.strip(" ,.;"):
        return None
    values = tuple(value for value in event.understanding.values if value.end <= len(head))
    understanding = dataclasses.replace(event.understanding, values=values, slots=())
    before = dataclasses.replace(event, text=head, understanding=understanding, answer="")
    reading = read_form_turn(agent, form, before)
    if not reading.changes(form):
        return None
    state, actions = understood(take(agent, state, form, reading, event.today))
    return state, (Say(event.answer), *actions)


def _changed(agent: Agent, state: State, form: Form, event: Understood, reading: TurnReading) -> Step | None:
    """Take values that a turn gives, denies or leaves open; None without effect."""
    if reading.unclear:
        return ask_what_to_change(agent, state, form) if form.confirming else miss(agent, state)
    if not reading.choosing and not reading.changes(form):
        return None
    if is_for_later(agent, form.intent, event):
        return refuse_later(agent, state)
    return understood(take(agent, state, form, reading, event.today))


def _answered(agent: Agent, state: State, form: Form, event: Understood, assent: Assent) -> Step:
    """Take the answer to the question if all is right, or what is to be changed."""
    if assent is Assent.UNCLEAR:
        return _answer_or_miss(agent, state, event)
    if is_listing(agent, form):
        if assent is Assent.YES and not is_complete(words_of(event.text)):
            return ask_again(agent, state)
        return understood(proceed(agent, replace(state, form=replace(form, is_listed=True))))
    if assent is Assent.YES:
        return understood(fulfil(agent, state) if form.confirming else proceed(agent, state))
    parts = [part for part in _PARTS.split(event.text) if assent_of(words_of(part)) is Assent.NO]
    named = next(filter(None, (slot_named(agent, form, part) for part in (*parts, event.text))), "")
    if named:
        return ask_anew(agent, state, form, named)
    return understood(proceed(agent, state)) if form.changing else ask_what_to_change(agent, state, form)


def _assent(agent: Agent, state: State, form: Form, words: Sequence[Word]) -> Assent | None:
    """Read the reply to a confirmation, as in "yes, a table for three"."""
    texts = [say.text for say in question(agent, state)]
    offered = _OFFER.search(texts[0]) if texts else None
    texts += [text for filled in form.slots.values() for text in (filled.said, filled.value)]
    texts += (name.replace("_", " ") for name in (form.intent, *form.slots))
    repeated = frozenset(word.text for text in texts for word in words_of(text))
    return assent_of(words, repeated, offered[1].lower() if offered else "")


def _is_of_list(agent: Agent, form: Form, reading: TurnReading) -> bool:
    """Return whether a turn names a listed value, such as "super" or "fine"."""
    slots = agent.slots_of(form.intent)
    return any(agent.values_of(name, slots[name]) is not None for name in reading.filled)


def _answer_or_miss(agent: Agent, state: State, event: Understood) -> Step:
    """Answer a question in between and return to the agent's own."""
    if not event.answer:
        return miss(agent, state)
    return understood((state, (Say(event.answer), *question(agent, state), listening(agent, state))))
