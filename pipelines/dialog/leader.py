"""Port of language models that lead dialogs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Awaitable, Callable

    from pipelines.data.dialog.lead import Lead
    from pipelines.data.dialog.state import State
    from pipelines.dialog.agent.agent import Agent

    Search = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Brief:
    """A turn as a model is told of it.

    Attributes:
        agent: by which the dialog is held.
        state: before the turn.
        text: what was said or typed.
        now: the caller's date and time, with a zone.
        seconds: time for all that the model is asked.
        passage: text that a found answer stands in; "": none was found.
        search: looks for an answer in documents, "" for none; None: there are no documents.
    """

    agent: Agent
    state: State
    text: str = field(repr=False)
    now: dt.datetime
    seconds: float
    passage: str = field(default="", repr=False)
    search: Search | None = None


class LeadError(Exception):
    """A model gives no lead; the message tells why, and nothing that was said."""


class Leader(Protocol):
    """Leads the dialogs of agents that name a language model."""

    async def lead(self, brief: Brief) -> Lead:
        """Return what a turn is to lead to; nothing is carried out.

        Raises:
            LeadError: the model does not answer as it should, in time.
        """
