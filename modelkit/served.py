"""The engines behind a running service, as its callers reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import vivavoce
from engines.bert.intent_decoding import Slot, Understanding

if TYPE_CHECKING:
    from vivavoce import Client

_PATIENT_SECONDS = 60.0
"""A budget that no question overruns: what is scored is the answer, not its latency."""


class ServedEngines:
    """Asks a running service (``modelkit.evaluate.Engines``).

    Args:
        address: ``host:port`` of the service.
    """

    def __init__(self, address: str) -> None:
        self._client = vivavoce.connect(address)
        self._entered = False

    async def understand(self, text: str) -> Understanding:
        """Finds intent and slots of ``text``."""
        reply = await (await self._connected()).ask(text, reply_budget_seconds=_PATIENT_SECONDS)
        if reply.intent is None:
            raise RuntimeError("the service left the intent out: its log says why")
        slots = tuple(Slot(slot.name, slot.start, slot.end) for slot in reply.slots)
        return Understanding(reply.intent.name, reply.intent.confidence, slots)

    async def answer(self, question: str, document: str) -> str:
        """Finds the answer; "" where the document holds none."""
        client = await self._connected()
        reply = await client.ask(question, documents=[document], reply_budget_seconds=_PATIENT_SECONDS)
        return reply.answer.text if reply.answer else ""

    async def close(self) -> None:
        """Closes the connection."""
        if self._entered:
            await self._client.__aexit__(None, None, None)

    async def _connected(self) -> Client:
        if not self._entered:
            self._entered = True
            await self._client.__aenter__()
        return self._client
