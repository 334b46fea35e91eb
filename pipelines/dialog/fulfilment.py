"""The port of what carries out the wishes of callers: an order, a booking, a light that is switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.dialog.actions import Fulfil
    from pipelines.dialog.events import Fulfilled, FulfilmentFailed, Progressed


class Fulfiller(Protocol):
    """Carries out fulfilments of one name."""

    def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Progressed | Fulfilled | FulfilmentFailed]:
        """Carry a fulfilment out, and yield what becomes of it; the last event is its result.

        It is begun once for each number of a session, when the turn is over. It ends in time by itself, however what
        it asks behaves. An exception that it raises counts as a failure.

        Args:
            task: what is to be done; its number is that of the events.
            session: names the dialog. With the number of the task it is the same for no other fulfilment.
        """
