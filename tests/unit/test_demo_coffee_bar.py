"""The coffee bar of the demonstration: an agent that orders at a counter, which checks signatures and counts once."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

import demo
from demo.coffee_bar import FOLDER, TURNS, serve_bar
from demo.counter import MAX_AGE_SECONDS, Counter, is_signed, open_counter
from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed
from pipelines.dialog.agent.folder import read_agent
from service.fulfilment.fulfillers import fulfillers_of
from service.fulfilment.http_calls import HttpCalls
from service.fulfilment.signature import signature_headers

SECRET = "a secret of the counter"
SLOTS = {"coffeeDrink": "latte", "size": "large"}


async def test_a_conversation_ends_with_an_order():
    said, counter = await serve_bar(TURNS)
    assert said.splitlines()[1:] == [
        "Which size, small, medium, large, eight ounce, twelve ounce, sixteen ounce or twenty ounce?",
        "1 large latte. Is that right?",
        "1 small latte. Is that right?",
        "Your latte is number 1. Anything else?",
        "Enjoy your day.",
    ]
    assert list(counter.orders.values()) == [{"coffeeDrink": "latte", "size": "small", "count": "1"}]


async def ordered(counter: Counter, *tasks: tuple[str, Fulfil]) -> list[Fulfilled | FulfilmentFailed]:
    calls = HttpCalls()
    async with open_counter(counter) as url:
        environment = {"COFFEE_BAR_URL": url, "COFFEE_BAR_SECRET": SECRET}
        order = fulfillers_of(read_agent(FOLDER), FOLDER, calls, environment)["order"]
        events = [event for session, task in tasks async for event in order.carry_out(task, session)]
    await calls.close()
    return events  # type: ignore[return-value]  # webhooks say nothing on the way


def task(number: int = 1, **slots: str) -> Fulfil:
    return Fulfil(number, "order", "orderDrink", {**SLOTS, **slots})


async def test_an_order_counts_once():
    counter = Counter(SECRET.encode())
    events = await ordered(counter, ("a", task()), ("a", task()), ("b", task()), ("a", task(2)))
    assert [event.say.partition(" is ")[2].partition(".")[0] for event in events] == [
        "number 1",
        "number 1",
        "number 2",
        "number 3",
    ]
    assert len(counter.orders) == 3


async def test_what_is_sold_out():
    counter = Counter(SECRET.encode(), frozenset(("mocha",)))
    (event,) = await ordered(counter, ("a", task(coffeeDrink="mocha")))
    assert isinstance(event, FulfilmentFailed)
    assert event.say == "I am sorry, there is no more mocha today. Anything else?"
    assert counter.orders == {}


@pytest.mark.parametrize("headers", [{}, {"webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "v1,x"}])
async def test_nobody_else_orders(headers: dict[str, str]):
    counter = Counter(SECRET.encode())
    body = json.dumps({"idempotency_key": "a", "slots": SLOTS})
    async with open_counter(counter) as url, httpx.AsyncClient() as client:
        response = await client.post(url, content=body, headers=headers)
    assert response.status_code == 401
    assert counter.orders == {}


def test_a_signature():
    now = int(time.time())
    body = b'{"a": 1}'
    headers = signature_headers(SECRET.encode(), "key", now, body)
    assert is_signed(SECRET.encode(), headers, body)
    assert not is_signed(SECRET.encode(), headers, b'{"a": 2}')
    assert not is_signed(b"another secret", headers, body)
    assert not is_signed(SECRET.encode(), {**headers, "webhook-id": "other"}, body)
    old = signature_headers(SECRET.encode(), "key", now - MAX_AGE_SECONDS - 1, body)
    assert not is_signed(SECRET.encode(), old, body)


def test_the_agent_names_its_environment_alone():
    text = (Path(demo.__file__).parent / "agents/coffee_bar/agent.yaml").read_text("utf-8")
    assert "COFFEE_BAR_SECRET" in text
    assert SECRET not in text
