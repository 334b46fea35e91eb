"""Fulfilments on real sockets, from the typed turn to what the agent says: webhooks and language models."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import vivavoce
from pipelines.dialog.sessions import DialogSessions
from service.fulfilment.fulfillers import fulfillers_of
from service.fulfilment.http_calls import HttpCalls
from service.sessions.dialogs import Dialogs, read_dialogs
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.service.fulfilment.server import answers, hangs, serving
from tests.unit.service.fulfilment.test_fulfillers import FOLDER
from tests.unit.service.fulfilment.test_language_model import chunk, streams
from tests.unit.service.harness import Harness
from tests.unit.service.test_dialogs import COFFEE_BAR, OrderingModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from tests.unit.service.fulfilment.server import Behaviour, Request, Server

ORDER = ("a latte please", "small", "yes")


@contextlib.asynccontextmanager
async def bar(*behaviours: Behaviour, kind: str = "webhook", **form: Any) -> AsyncIterator[tuple[Harness, Server]]:
    calls = HttpCalls()
    async with serving(*behaviours) as server:
        agent = agent_of({**BAR, "fulfilments": {"order": {kind: {"url": f"{server.url}/orders", **form}}}})
        sessions = DialogSessions(fulfillers={"bar": fulfillers_of(agent, FOLDER, calls, {})})
        dialogs = Dialogs({"bar": agent}, sessions)
        async with Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as harness:
            yield harness, server
    await calls.close()


async def said(harness: Harness, *texts: str, session: vivavoce.Session | None = None) -> list[str]:
    turns = [vivavoce.TypedTurn(text) for text in texts]
    async with vivavoce.connect(harness.address) as client:
        conversation = client.converse(turns, audio=None, agent="bar", session=session)
        replies = [event async for event in conversation if isinstance(event, vivavoce.Reply)]
    assert all(reply.dialog is not None and not reply.dialog.fulfilments for reply in replies)
    return [reply.speech_text for reply in replies]


async def test_a_webhook_carries_an_order_out():
    async with bar(answers({"say": "It is number 7.", "slots": {"size": "large"}})) as (harness, server):
        assert await said(harness, *ORDER) == ["Which size?", "1 small latte?", "", "It is number 7."]
        assert await said(harness, *ORDER) == ["Which size?", "1 small latte?", "", "It is number 7."]
    keys = {request.headers["idempotency-key"] for request in server.requests}
    assert len(keys) == len(server.requests) == 2
    assert server.requests[0].json["slots"] == {"drink": "latte", "size": "small", "count": "1"}


async def test_a_webhook_that_fails():
    async with bar(answers(status=404)) as (harness, server):
        assert (await said(harness, *ORDER))[-1] == "Sorry, that did not work."
    assert len(server.requests) == 1


async def test_one_moment_while_it_lasts_and_turns_wait():
    async with bar(hangs, deadline_seconds=1.5) as (harness, _):
        assert await said(harness, *ORDER, "a latte please") == [
            "Which size?",
            "1 small latte?",
            "",
            "One moment, please.",
            "One moment, please.",
            "Sorry, that did not work. Which size?",
        ]


async def test_a_session_has_keys_of_its_own_over_streams():
    async with bar(answers()) as (harness, server):
        for _ in range(2):
            assert (await said(harness, *ORDER, session=vivavoce.Session("kiosk 7")))[-1] == "Done."
            await harness.until(lambda: not harness.admission.is_busy())
    first, second = (request.headers["idempotency-key"].split("-") for request in server.requests)
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("1", "2")


async def test_a_preview_carries_nothing_out():
    async with bar(answers()) as (harness, server):
        assert await said(harness, *ORDER[:2]) == ["Which size?", "1 small latte?"]
        await asyncio.sleep(0.1)
    assert server.requests == []


async def test_what_is_safe_answers_within_the_reply():
    async with bar(answers({"say": "It is number 7."}), safe=True) as (harness, server):
        assert await said(harness, *ORDER) == ["Which size?", "1 small latte?", "It is number 7."]
    assert len(server.requests) == 1


async def test_a_language_model_says_its_sentences():
    pieces = [chunk("A small one. "), chunk("It takes a"), chunk(" minute.")]
    async with bar(streams(*pieces), kind="language_model", model="small") as (harness, server):
        assert await said(harness, *ORDER) == [
            "Which size?",
            "1 small latte?",
            "",
            "A small one.",
            "It takes a minute.",
            "Done.",
        ]
    shown = [message["content"] for message in server.requests[0].json["messages"][1:]]
    assert shown == ["Hello.", "a latte please", "Which size?", "small", "1 small latte?", "yes"]


async def test_a_turn_ends_a_language_model_that_still_talks():
    gone = asyncio.Event()

    async def talks(request: Request, writer: asyncio.StreamWriter) -> None:
        try:
            await streams(*(chunk(f"Sentence {number}. ") for number in range(1_000)), pause=0.05)(request, writer)
        finally:
            gone.set()

    talking = asyncio.Event()

    async def turns() -> AsyncIterator[vivavoce.TypedTurn]:
        for text in ORDER:
            yield vivavoce.TypedTurn(text)
        await talking.wait()
        yield vivavoce.TypedTurn("a latte please")

    told = []
    async with bar(talks, kind="language_model", model="small", max_sentences=20) as (harness, _):
        async with vivavoce.connect(harness.address) as client:
            async for event in client.converse(turns(), audio=None, agent="bar"):
                if isinstance(event, vivavoce.Reply):
                    told.append(event.speech_text)
                    if event.speech_text == "Sentence 0.":
                        talking.set()
        async with asyncio.timeout(5):
            await gone.wait()
    assert told[-1] == "Which size?"
    assert "One moment, please." not in told
    assert len(told) < 15


async def test_the_agents_of_a_service_have_fulfillers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COFFEE_BAR_URL", "https://example.com/orders")
    monkeypatch.setenv("COFFEE_BAR_SECRET", "sixteen bytes and more")
    async with contextlib.AsyncExitStack() as cleanup:
        dialogs = read_dialogs((COFFEE_BAR,), cleanup=cleanup)
        assert dialogs.sessions is not None
        async with dialogs.sessions.open(dialogs.agents["coffee_bar"]) as session:
            assert list(session.fulfillers) == ["order"]
    monkeypatch.delenv("COFFEE_BAR_URL")
    dialogs = read_dialogs((COFFEE_BAR,))
    assert dialogs.sessions is not None
    async with dialogs.sessions.open(dialogs.agents["coffee_bar"]) as session:
        assert session.fulfillers == {}
