"""Webhooks on a real socket: what is sent, what is made of the answer, and servers that misbehave."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed
from service.fulfilment.http_calls import HttpCalls
from service.fulfilment.reporting import ReportingFulfiller
from service.fulfilment.webhook import WebhookFulfiller
from tests.pages import blocks, page
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.service.fulfilment.server import (
    Behaviour,
    Server,
    answers,
    breaks_off,
    closes,
    drips,
    floods,
    hangs,
    serving,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SECRET = b"sixteen bytes and more"
TASK = Fulfil(3, "order", "order", {"drink": "latte", "size": "large"}, parameters={"house": "the bar"})


@pytest.fixture
async def calls() -> AsyncIterator[HttpCalls]:
    calls = HttpCalls()
    yield calls
    await calls.close()


async def outcome(calls: HttpCalls, server: Server, task: Fulfil = TASK, **settings: Any) -> Any:
    settings = {"deadline_seconds": 2.0, "clock": lambda: 7.0} | settings
    webhook = WebhookFulfiller(agent_of(), calls, f"{server.url}/orders", **settings)
    events = [event async for event in ReportingFulfiller(webhook, "bar", lambda: 7.0).carry_out(task, "session")]
    assert len(events) == 1
    return events[0]


async def test_what_is_sent(calls: HttpCalls):
    async with serving(answers({})) as server:
        await outcome(calls, server, headers={"X-Api-Key": "hush"})
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/orders")
    assert request.json == {
        "agent": "bar",
        "fulfilment": "order",
        "session": "session",
        "number": 3,
        "idempotency_key": "session-3",
        "intent": "order",
        "slots": {"drink": "latte", "size": "large"},
        "parameters": {"house": "the bar"},
    }
    assert request.headers["idempotency-key"] == "session-3"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-api-key"] == "hush"
    assert "webhook-signature" not in request.headers


async def test_signature(calls: HttpCalls):
    async with serving(answers()) as server:
        await outcome(calls, server, secret=SECRET, wall_clock=lambda: 1_700_000_000.9)
    headers = server.requests[0].headers
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("session-3", "1700000000")
    assert headers["webhook-signature"].startswith("v1,")


async def test_the_page_of_the_docs_knows_our_signatures(calls: HttpCalls):
    (code,) = (block for block in blocks(page("docs/fulfilment.md"), "python") if "def is_ours" in block.text)
    documented: dict[str, Any] = {}
    exec(code.text, documented)
    async with serving(answers()) as server:
        await outcome(calls, server, secret=SECRET)
    request = server.requests[0]
    assert documented["is_ours"](SECRET, request.headers, request.body)
    assert not documented["is_ours"](SECRET, request.headers, request.body + b" ")
    assert not documented["is_ours"](b"another secret", request.headers, request.body)
    assert not documented["is_ours"](SECRET, {**request.headers, "webhook-timestamp": "1"}, request.body)


@pytest.mark.parametrize(
    ("answer", "event"),
    [
        (answers(), Fulfilled(7.0, 3)),
        (answers(status=204), Fulfilled(7.0, 3)),
        (answers({}), Fulfilled(7.0, 3)),
        (answers({"say": "Ten minutes."}), Fulfilled(7.0, 3, say="Ten minutes.")),
        (
            answers({"slots": {"size": "small", "count": 12345678}}),
            Fulfilled(7.0, 3, {"size": "small", "count": "12345678"}),
        ),
        (answers({"slots": {"count": 0.5}}), Fulfilled(7.0, 3, {"count": "0.5"})),
        (answers({"parameters": {"house": "closed"}}), Fulfilled(7.0, 3, parameters={"house": "closed"})),
        (answers({"failed": True}), FulfilmentFailed(7.0, 3)),
        (answers({"failed": True, "say": "Sold out."}), FulfilmentFailed(7.0, 3, "Sold out.")),
        (answers({}, kind="application/json; charset=utf-8"), Fulfilled(7.0, 3)),
    ],
)
async def test_answer(calls: HttpCalls, answer: Behaviour, event: Any):
    async with serving(answer) as server:
        assert await outcome(calls, server) == event


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answers({"slots": {"milk": "oat"}}), "names the slot 'milk', which the agent does not have: drink, size"),
        (answers({"parameters": {"tip": "1"}}), "names the parameter 'tip', which the agent does not have: house"),
        (answers({"slots": {"size": ["small"]}}), "has another form than docs/fulfilment.md: Expected"),
        (answers({"slots": {"size": True}}), "has another form than docs/fulfilment.md: Expected"),
        (answers({"ok": True}), "has another form than docs/fulfilment.md: Object contains unknown field `ok`"),
        (answers({"say": "x" * 1_001}), "has another form than docs/fulfilment.md: Expected `str` of length <= 1000"),
        (answers([]), "has another form than docs/fulfilment.md: Expected `object`"),
        (answers(b"{"), "the answer is no JSON"),
        (answers(b'{"say": "\xff"}'), "the answer is no JSON"),
        (answers(b"[" * 50_000), "has another form than"),
        (answers(b"<html>", kind="text/html"), "the answer is text/html, not application/json"),
        (answers(b" " * 70_000), "the answer is larger than 64 KiB"),
        (floods, "the answer is larger than 64 KiB"),
        (answers(b"\x1f\x8b", Content_Encoding="gzip"), "the answer is compressed, which was not asked for"),
        (
            answers(status=302, Location="http://127.0.0.1:1/"),
            r"the server redirects \(status 302\), which is not followed",
        ),
        (answers({"say": "No."}, status=404), "the server answers with status 404"),
        (answers(status=500), "the server answers with status 500"),
        (hangs, "no whole answer came within 0.4 s"),
        (drips, "no whole answer came within 0.4 s"),
        (closes, r"the server cannot be reached \(RemoteProtocolError\)"),
        (breaks_off, r"the answer broke off \(RemoteProtocolError\)"),
    ],
)
async def test_server_that_misbehaves(
    calls: HttpCalls, answer: Behaviour, reason: str, caplog: pytest.LogCaptureFixture
):
    began = time.monotonic()
    async with serving(answer) as server:
        assert await outcome(calls, server, deadline_seconds=0.4, retries=1) == FulfilmentFailed(7.0, 3)
    assert time.monotonic() - began < 2
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith("the fulfilment order of the agent bar failed: ")
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(record.getMessage())


async def test_what_is_logged_of_an_answer_is_short(calls: HttpCalls, caplog: pytest.LogCaptureFixture):
    async with serving(answers({"x" * 50_000: 1})) as server:
        assert await outcome(calls, server) == FulfilmentFailed(7.0, 3)
    assert len(caplog.records[0].getMessage()) < 400


async def test_no_server(calls: HttpCalls):
    async with serving(answers()) as server:
        pass
    assert await outcome(calls, server, retries=0) == FulfilmentFailed(7.0, 3)
    assert server.requests == []


async def test_a_second_delivery_has_the_same_key_and_body(calls: HttpCalls):
    async with serving(closes, answers(status=503), answers({"say": "Done."})) as server:
        assert await outcome(calls, server) == Fulfilled(7.0, 3, say="Done.")
    assert len(server.requests) == 3
    assert len({request.body for request in server.requests}) == 1
    assert {request.headers["idempotency-key"] for request in server.requests} == {"session-3"}


async def test_readings_of_one_turn_have_keys_of_their_own_where_the_webhook_is_safe(calls: HttpCalls):
    async with serving(answers()) as server:
        for slots in ({"size": "large"}, {"size": "small"}, {"size": "large"}):
            await outcome(calls, server, Fulfil(3, "order", "order", slots), is_safe=True)
    first, second, third = (request.headers["idempotency-key"] for request in server.requests)
    assert first == third != second
    assert first.startswith("session-3-")


@pytest.mark.parametrize("status", [400, 401, 404, 422, 301])
async def test_refusals_are_not_repeated(calls: HttpCalls, status: int):
    async with serving(answers(status=status), answers()) as server:
        assert await outcome(calls, server) == FulfilmentFailed(7.0, 3)
    assert len(server.requests) == 1


async def test_retry_after_is_waited_for(calls: HttpCalls):
    async with serving(answers(status=429, Retry_After="1"), answers()) as server:
        began = time.monotonic()
        assert await outcome(calls, server) == Fulfilled(7.0, 3)
        assert time.monotonic() - began >= 1.0


@pytest.mark.parametrize("value", ["60", "Fri, 31 Dec 2199 23:59:59 GMT"])
async def test_retry_after_behind_the_deadline_ends_it_at_once(calls: HttpCalls, value: str):
    async with serving(answers(status=429, Retry_After=value), answers()) as server:
        began = time.monotonic()
        assert await outcome(calls, server) == FulfilmentFailed(7.0, 3)
        assert time.monotonic() - began < 0.5
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "value", ["soon", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", "Wed, 21 Oct 99999999999 07:28:00 GMT"]
)
async def test_retry_after_without_a_meaning(calls: HttpCalls, value: str):
    async with serving(answers(status=429, Retry_After=value), answers()) as server:
        assert await outcome(calls, server) == Fulfilled(7.0, 3)


async def test_cancelled_while_it_lasts(calls: HttpCalls):
    async with serving(hangs) as server:
        task = asyncio.create_task(outcome(calls, server))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_nothing_of_what_was_said_is_logged(calls: HttpCalls, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    secret = {"say": "xyzzy plugh", "slots": {"xyzzy": "plugh"}}
    async with serving(answers(secret), answers({"slots": {"size": ["plugh"]}}), answers(b"plugh")) as server:
        task = Fulfil(3, "order", "order", {"drink": "a plugh"}, parameters={"house": "plugh"})
        for _ in range(3):
            await outcome(calls, server, task, secret=SECRET, headers={"X-Api-Key": "plugh"})
    assert "plugh" not in caplog.text
    assert "sixteen" not in caplog.text
    assert "sixteen" not in repr(WebhookFulfiller(agent_of(), calls, "https://x", SECRET, {"a": "sixteen"}))


async def test_refusal_with_offers(calls: HttpCalls):
    told = {"failed": True, "say": "Taken.", "ask_again": "size", "offers": ["small", "medium"]}
    async with serving(answers(told)) as server:
        event = await outcome(calls, server)
    assert event == FulfilmentFailed(7.0, 3, "Taken.", "size", ("small", "medium"))
    for wrong in ({"offers": "small"}, {"offers": ["x"] * 11}, {"offers": [1]}):
        async with serving(answers(told | wrong)) as server:
            assert await outcome(calls, server) == FulfilmentFailed(7.0, 3)
