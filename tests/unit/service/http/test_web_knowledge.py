"""Knowledge bases over HTTP: ``WS /v1/converse``, ``POST /v1/ask`` and ``WS /v1/realtime``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.stages.answering_stage import AnsweringStage
from service.admission.admission import Admission, RecordingMemory
from service.api.http.openai.routes import OpenAiApi
from service.api.vivavoce.handlers import VivavoceApi
from service.knowledge import open_bases
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from tests.unit.service.harness import FakeVoice
from tests.unit.service.http.realtime import connected
from tests.unit.service.http.running import Openai, client, running
from tests.unit.service.test_knowledge import TEXT, EmbeddingModels, base

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

__all__ = ["base"]

QUESTION = "how old is the boat?"


@pytest.fixture
async def service(base: Path) -> AsyncIterator[Openai]:
    admission, models, voice = Admission(8), EmbeddingModels(0.001, 0.001, 0.001), FakeVoice()
    admission.open()
    async with contextlib.AsyncExitStack() as cleanup:
        bases = open_bases({"museum": base}, cleanup)
        stages = SHIPPED_STAGES.replacing(AnsweringStage(bases))
        memory = RecordingMemory(quotas=admission.quotas)
        host = SessionHost(models, voice, admission, Limits(), memory=memory, stages=stages, knowledge=bases.names)
        routes = [*VivavoceApi(host).routes, *OpenAiApi(host).routes]
        server = await cleanup.enter_async_context(running(routes))
        session = await cleanup.enter_async_context(client(server))
        yield Openai(server, session, models, voice, host, routes)


async def test_a_typed_turn_of_its_own(service: Openai):
    async with service.session.post("/v1/ask", json={"text": QUESTION, "knowledge": ["museum"]}) as response:
        answer = (await response.json())["reply"]["answer"]
    assert answer["text"] == "1874"
    assert answer["source"] == {
        "base": "museum",
        "title": "Boats",
        "headings": ["History", "Cargo"],
        "page": 5,
        "passage": TEXT,
    }
    async with service.session.post("/v1/ask", json={"text": QUESTION, "knowledge": ["zoo"]}) as response:
        assert (response.status, (await response.json())["reason"]) == (400, "UNKNOWN_KNOWLEDGE_BASE")


async def test_a_conversation_that_changes_its_bases(service: Openai):
    async with service.session.ws_connect("/v1/converse") as socket:
        await socket.send_json({"config": {}})
        answers = []
        for update in (None, {"knowledge": {"knowledge": ["museum"]}}, {"phraseHints": {}}, {"knowledge": {}}):
            if update is not None:
                await socket.send_json({"update": update})
            await socket.send_json({"text": QUESTION})
            while "reply" not in (told := await socket.receive_json()):
                pass
            answers.append(told["reply"].get("answer", {}).get("text"))
        await socket.send_json({"update": {"knowledge": {"knowledge": ["zoo"]}}})
        while "error" not in (told := await socket.receive_json()):
            pass
    assert answers == [None, "1874", "1874", None]
    assert told["error"]["field"] == "update.knowledge.knowledge"
    assert "name one of museum" in told["error"]["detail"]


async def test_a_realtime_session(service: Openai):
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}
    async with connected(service) as session:
        answers = []
        for extension in ({}, {"knowledge": ["museum"]}, {"knowledge": []}):
            await session.update(output_modalities=["text"], vivavoce=extension)
            await session.send("conversation.item.create", item=item)
            await session.send("response.create")
            done = await session.until("response.done")
            answers.append("".join(part["text"] for one in done["response"]["output"] for part in one["content"]))
        await session.send("session.update", session={"vivavoce": {"knowledge": ["zoo"]}})
        error = (await session.until("error", param="session.vivavoce.knowledge"))["error"]
    assert answers[1] == TEXT
    assert TEXT not in (answers[0], answers[2])
    assert "no knowledge base 'zoo' is served" in error["message"]
