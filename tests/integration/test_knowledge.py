"""Answers from a knowledge base: built, served, asked in writing, and changed meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import vivavoce
from tests.integration.museum import BRIDGE, build

if TYPE_CHECKING:
    from pathlib import Path


async def ask(address: str, question: str) -> vivavoce.Answer | None:
    async with vivavoce.connect(address) as client:
        return (await client.ask(question, knowledge=["museum"], reply_budget_seconds=10)).answer


@pytest.mark.parametrize(
    ("question", "text", "title", "page"),
    [
        ("When was the cargo boat built?", "1874", "Boats", 2),
        ("Who paid for the stone bridge?", "wool merchants", "The bridge", None),
        ("When does the museum close?", "half past five", "Opening hours", None),
    ],
)
async def test_the_document_that_knows_is_found(
    server_address: str, question: str, text: str, title: str, page: int | None
):
    answer = await ask(server_address, question)
    assert answer is not None
    assert text in answer.text
    assert (answer.source.base, answer.source.title, answer.source.page) == ("museum", title, page)
    assert answer.source.passage[answer.start : answer.end] == answer.text


async def test_what_no_document_knows_is_not_answered(server_address: str):
    assert await ask(server_address, "Who composed the opera about the emperor?") is None


async def test_what_a_build_changes_is_answered_at_once(server_address: str, museum: Path):
    (museum / "bridge.md").write_text(BRIDGE.replace("1902", "1913"))
    (museum / "tower.md").write_text("# The tower\n\nThe water tower is sixty metres high.\n")
    build(museum)
    assert (await ask(server_address, "When was the stone bridge finished?")).text == "1913"
    assert "sixty metres" in (await ask(server_address, "How high is the water tower?")).text


async def test_a_conversation_gets_its_answers_there_too(server_address: str):
    async with vivavoce.connect(server_address) as client:
        turns = client.converse(
            [vivavoce.TypedTurn("When was the cargo boat built?")],
            audio=None,
            knowledge=["museum"],
            reply_budget_seconds=10,
        )
        replies = [event async for event in turns if isinstance(event, vivavoce.Reply)]
    assert [reply.answer.text for reply in replies] == ["1874"]


async def answers(address: str, *questions: str, **chosen: object) -> list[vivavoce.Reply]:
    replies = []

    async def turns():
        for number, question in enumerate(questions):
            while len(replies) < number:
                await asyncio.sleep(0.02)
            yield vivavoce.TypedTurn(question)

    async with vivavoce.connect(address) as client:
        async for event in client.converse(turns(), audio=None, reply_budget_seconds=10, **chosen):
            if isinstance(event, vivavoce.Reply):
                replies.append(event)  # noqa: PERF401 - the next turn waits for it
    return replies


async def test_follow_up_questions(server_address: str):
    replies = await answers(
        server_address, "When does the museum close?", "And when does it open?", knowledge=["museum"]
    )
    assert [reply.answer.text for reply in replies] == ["half past five", "nine"]


async def test_an_agent_answers_from_its_own_documents(server_address: str):
    replies = await answers(server_address, "Who founded the museum?", "And when was she born?", agent="museum_guide")
    assert [reply.answer.source.base for reply in replies] == ["museum_guide"] * 2
    assert "Clara Winter" in replies[0].speech_text
    assert "1891" in replies[1].speech_text
