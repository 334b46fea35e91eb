"""The counter of the coffee bar: a webhook that takes orders, each once."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

MAX_AGE_SECONDS = 300


def is_signed(secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
    """Tell whether a request comes from somebody who knows the secret, and was made a moment ago."""
    key, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > MAX_AGE_SECONDS:
        return False
    digest = hmac.digest(secret, f"{key}.{timestamp}.".encode() + body, hashlib.sha256)
    expected = "v1," + base64.b64encode(digest).decode()
    return hmac.compare_digest(headers.get("webhook-signature", ""), expected)


@dataclass(slots=True)
class Counter:
    """Takes orders.

    Attributes:
        secret: that orders are signed with.
        sold_out: drinks that there are no more.
        orders: the slots of each order, by its idempotency key.
    """

    secret: bytes = field(repr=False)
    sold_out: frozenset[str] = frozenset()
    orders: dict[str, dict[str, str]] = field(default_factory=dict)

    async def take(self, request: web.Request) -> web.Response:
        """Take an order; one that comes a second time is answered as the first time."""
        body = await request.read()
        if not is_signed(self.secret, request.headers, body):
            return web.json_response({"error": "the signature is wrong"}, status=401)
        told = await request.json()
        return web.json_response(self._answer(told["idempotency_key"], told["slots"]))

    def _answer(self, key: str, slots: dict[str, str]) -> dict[str, Any]:
        drink = slots["coffeeDrink"]
        if drink in self.sold_out:
            return {"failed": True, "say": f"I am sorry, there is no more {drink} today. Anything else?"}
        self.orders.setdefault(key, slots)
        number = list(self.orders).index(key) + 1
        return {"say": f"Your {drink} is number {number}. Anything else?"}


@contextlib.asynccontextmanager
async def open_counter(counter: Counter) -> AsyncIterator[str]:
    """Open the counter on a free port of this machine; yield its URL."""
    application = web.Application()
    application.router.add_post("/orders", counter.take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}/orders"
    finally:
        await runner.cleanup()
