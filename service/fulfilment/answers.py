"""Answers of webhooks and tools, checked against the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from pipelines.data.dialog.events import MAX_OFFERS, Fulfilled, FulfilmentFailed
from service.fulfilment.http_calls import CallFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.agent.agent import Agent

MAX_VALUES = 50

_Name = Annotated[str, msgspec.Meta(max_length=64)]
_Text = Annotated[str, msgspec.Meta(max_length=1_000)]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answer of a webhook.

    Attributes:
        slots: slots of the intent that get another value; a number is taken as its figures.
        say: what is said in place of the agent's own words; "": those.
        failed: whether it could not be done.
        parameters: session parameters that change.
        ask_again: slot that is asked for anew where it failed; "": none.
        offers: values that it may get.
    """

    slots: Annotated[dict[_Name, _Text | int | float], msgspec.Meta(max_length=MAX_VALUES)] = {}
    say: _Text = ""
    failed: bool = False
    parameters: Annotated[dict[_Name, _Text], msgspec.Meta(max_length=MAX_VALUES)] = {}
    ask_again: _Name = ""
    offers: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=MAX_OFFERS)] = ()


def read_answer(body: bytes, agent: Agent, intent: str) -> Answer:
    """Read an answer; an empty body says that all is done.

    Raises:
        CallFailedError: it is no JSON of this form, or names what the agent does not have.
    """
    if not body.strip():
        return Answer()
    try:
        answer = msgspec.json.decode(body, type=Answer)
    except msgspec.ValidationError as error:
        raise CallFailedError(f"the answer has another form than docs/fulfilment.md: {str(error)[:200]}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CallFailedError("the answer is no JSON") from error
    _check_names("slot", answer.slots, agent.slots_of(intent))
    _check_names("slot", {answer.ask_again: None} if answer.ask_again else {}, agent.slots_of(intent))
    _check_names("parameter", answer.parameters, agent.form.parameters)
    return answer


def _check_names(what: str, names: Mapping[str, object], known: Mapping[str, object]) -> None:
    unknown = sorted(name for name in names if name not in known)
    if unknown:
        there = ", ".join(known) or "none"
        raise CallFailedError(f"the answer names the {what} {unknown[0]!r}, which the agent does not have: {there}")


def to_event(answer: Answer, task: Fulfil, now: float) -> Fulfilled | FulfilmentFailed:
    """Make the event for the dialog of an answer."""
    if answer.failed:
        return FulfilmentFailed(now, task.number, answer.say, answer.ask_again, answer.offers)
    slots = {
        name: format(value, ".15g") if isinstance(value, float) else str(value) for name, value in answer.slots.items()
    }
    return Fulfilled(now, task.number, slots, answer.say, answer.parameters)
