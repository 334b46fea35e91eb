"""Webhook: a fulfilment as a signed request to the owner's server."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from service.fulfilment.answers import read_answer, to_event
from service.fulfilment.http_calls import Call
from service.fulfilment.signature import signature_headers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed
    from pipelines.dialog.agent.agent import Agent
    from service.fulfilment.http_calls import HttpCalls


@dataclass(frozen=True, slots=True)
class WebhookFulfiller:
    """Asks a server; see ``pipelines.dialog.fulfilment``.

    Attributes:
        agent: whose fulfilments are carried out.
        calls: makes requests.
        url: of the server.
        secret: that requests are signed with; b"": they are not signed.
        headers: further headers.
        deadline_seconds: time for all attempts together.
        retries: attempts after the first.
        is_safe: whether it changes nothing, and may run before the turn is over.
        clock: time in seconds, which never goes back.
        wall_clock: Unix time in seconds.
    """

    agent: Agent
    calls: HttpCalls
    url: str
    secret: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    deadline_seconds: float = 10.0
    retries: int = 2
    is_safe: bool = False
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Fulfilled | FulfilmentFailed]:
        """Carry a fulfilment out.

        Args:
            task: what is to be done.
            session: the dialog's name among all dialogs.

        Raises:
            CallFailedError: the server does not answer as it should.
        """
        key = f"{session}-{task.number}"
        if self.is_safe:
            # It may run for several readings of one turn, which are no deliveries of one request.
            told = msgspec.json.encode((task.intent, task.slots, task.parameters), order="sorted")
            key += f"-{hashlib.sha256(told).hexdigest()[:12]}"
        body = msgspec.json.encode(
            {
                "agent": self.agent.form.name,
                "fulfilment": task.name,
                "session": session,
                "number": task.number,
                "idempotency_key": key,
                "intent": task.intent,
                "slots": task.slots,
                "parameters": task.parameters,
            }
        )
        headers = {**self.headers, "Accept": "application/json", "Idempotency-Key": key}
        if self.secret:
            headers |= signature_headers(self.secret, key, int(self.wall_clock()), body)
        call = Call("POST", self.url, headers, body, self.deadline_seconds, self.retries)
        answer = read_answer(await self.calls.read(call), self.agent, task.intent)
        yield to_event(answer, task, self.clock())
