"""Keys that the caller presses, as an answer to what the agent asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.state import Filled
from pipelines.data.values import ValueKind
from pipelines.dialog.agent.form import CLOSED, TEXT
from pipelines.dialog.next_step import choices_of, proceed

if TYPE_CHECKING:
    from pipelines.data.dialog.state import Form, State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step

MAX_DIGITS = 32
"""Of one answer; the ones behind are dropped."""


def answer_by_keys(agent: Agent, state: State, form: Form, keys: str) -> Step | None:
    """Fill the asked slot with digits: a choice's place, a number, or text.

    Returns:
        None where they are no answer.
    """
    digits = keys[:MAX_DIGITS]
    if not form.asked or not (digits.isascii() and digits.isdecimal()):
        return None
    slot = agent.slots_of(form.intent)[form.asked]
    value = ""
    if slot.type == CLOSED:
        offered = choices_of(agent, form)
        value = offered[int(digits) - 1] if 1 <= int(digits) <= len(offered) else ""
    elif slot.type in {ValueKind.NUMBER.value, TEXT}:
        value = digits
    if not value:
        return None
    slots = {**form.slots, form.asked: Filled(value, value)}
    return proceed(agent, replace(state, form=replace(form, slots=slots, choices=())))
