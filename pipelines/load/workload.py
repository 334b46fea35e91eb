"""State that all conversations share: overload and precedence."""

from __future__ import annotations

import asyncio

from pipelines.load.precedence import Precedence
from pipelines.models.bulk import BulkGate
from pipelines.turns.observer import TurnObserver


class Workload:
    """Workload of a service; admission sets :attr:`short` and :attr:`share`.

    Attributes:
        share: seconds of audio that every conversation may send in a second while the machine is short of time, at
            least 1: nobody is kept from speaking.
        precedence: lets replies go before what others send.
        bulk: lets them go before bulk work.
        observer: hears of all turns.
    """

    def __init__(self, bulk: BulkGate | None = None, observer: TurnObserver | None = None) -> None:
        self.observer = observer or TurnObserver()
        self.bulk = bulk or BulkGate()
        self.precedence = Precedence()
        self.share = 1.0
        self._eased = asyncio.Event()
        self._eased.set()

    @property
    def short(self) -> bool:
        """True while overloaded, when streams are throttled to their share."""
        return not self._eased.is_set()

    @short.setter
    def short(self, short: bool) -> None:
        if short:
            self._eased.clear()
        else:
            self._eased.set()

    async def wait_while_short(self, most_seconds: float) -> None:
        """Wait until the machine has time again, but no longer than that."""
        try:
            async with asyncio.timeout(most_seconds):
                await self._eased.wait()
        except TimeoutError:
            return
