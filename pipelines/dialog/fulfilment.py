"""Protocol of fulfillers: they place an order, or switch on a light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed, Progressed


class Fulfiller(Protocol):
    """Carries out fulfilments of one name."""

    def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Progressed | Fulfilled | FulfilmentFailed]:
        """Carry out a fulfilment; yield its events, the result last.

        It is begun once for each number of a session, when the turn is over. It ends in time by itself, however what
        it asks behaves. An exception that it raises counts as a failure.

        Args:
            task: what is to be done; its number is that of the events.
            session: names the dialog. With the number of the task it is the same for no other fulfilment.
        """
