"""Effect of a turn where no intent is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.data.dialog.actions import Say
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.control_words import (
    Assent,
    assent_of,
    is_declined,
    is_done,
    is_refusal,
    is_thanks,
)
from pipelines.dialog.intent_start import (
    begin,
    continued,
    is_sure,
    target_now,
    understood,
    yields,
)
from pipelines.dialog.next_step import (
    finish,
    listening,
    speech,
)
from pipelines.dialog.no_match import miss
from pipelines.stages.questions import CONTINUING, asks

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step


def idle_turn(agent: Agent, state: State, event: Understood) -> Step:
    """Begin an intent, answer a question, or end the dialog."""
    target = target_now(agent, state, event)
    stands_alone = target is not None and CONTINUING.match(event.text) is None
    followed = continued(agent, state, event, target, stands_alone=stands_alone)
    if followed is not None:
        return understood(followed)
    is_answered = bool(event.answer) and asks(event.text) and not yields(event)
    is_answered = is_answered and not is_sure(agent, state, event)
    if target is not None and not is_answered:
        return begin(agent, state, target, event)
    words = words_of(event.text)
    answer = speech(agent, state, agent.form.welcome) if is_thanks(words) else ()
    if not answer and event.answer and not is_done(words):
        answer = (Say(event.answer),)
    if answer:
        return understood((state, (*answer, listening(agent, state))))
    was_asked = bool(state.said) and state.said[-1].endswith("?")
    if is_declined(words) or (was_asked and is_refusal(words)):
        return finish(agent, state, "end")
    if was_asked and assent_of(words) is Assent.YES:
        return understood((state, (*speech(agent, state, agent.form.help), listening(agent, state))))
    fallback = agent.form.fallback
    return miss(agent, state) if fallback is None else begin(agent, state, fallback, event)
