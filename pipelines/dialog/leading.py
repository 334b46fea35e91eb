"""Turns that a language model leads, and the understanding that leads without it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pipelines.data.dialog.events import Understood
from pipelines.dialog.leader import Brief, LeadError
from pipelines.dialog.led_turn import needs_lead

if TYPE_CHECKING:
    import datetime as dt

    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.dialog.leader import Search
    from pipelines.dialog.session import DialogSession

logger = logging.getLogger(__name__)


async def led_turn(
    dialog: DialogSession,
    turn: DialogTurn,
    now: dt.datetime,
    seconds: float | None = None,
    search: Search | None = None,
) -> DialogTurn:
    """Return a turn as the agent's language model leads it, or without it.

    Where the model gives no lead, the turn's understanding counts, by the engine or the agent's sentences.

    Args:
        dialog: of the turn; nothing in it changes.
        turn: preview of the turn, by the dialog itself.
        now: the caller's date and time, with a zone.
        seconds: time for the model, where that is less than the agent's; None: the agent's.
        search: looks for an answer in documents; None: there are none.
    """
    agent, event = dialog.agent, turn.event
    form = agent.form.language_model
    if form is None or dialog.leader is None or not isinstance(event, Understood) or not needs_lead(agent, turn):
        return turn
    limit = form.deadline_seconds if seconds is None else min(form.deadline_seconds, seconds)
    brief = Brief(agent, turn.before, event.text, now, max(limit, 0.0), event.passage, search)
    lead = None
    try:
        lead = await dialog.leader.lead(brief)
    except LeadError as error:
        logger.warning("the language model of the agent %s does not lead this turn: %s", agent.form.name, error)
    return dialog.preview(
        event.text, event.understanding, event.answer, event.passage, event.speaker, event.today, lead
    )
