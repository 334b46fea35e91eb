"""Agents with documents: built when a service starts, checked, and answered from."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

import service.agent_knowledge
from pipelines.dialog.agent.folder import check
from pipelines.dialog.sessions import DialogSessions
from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.port import KnowledgeStoreError, StoredDocument
from pipelines.knowledge.store.sqlite import SqliteKnowledge
from service.agent_knowledge import BUILT, KNOWLEDGE, agent_bases
from service.knowledge import open_bases
from service.sessions.dialogs import Dialogs
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.pipelines.knowledge.documents import scan
from tests.unit.pipelines.knowledge.embedding import DIMENSIONS, embed
from tests.unit.service.harness import Harness
from tests.unit.service.test_dialogs import TEMPLATE, held
from tests.unit.service.test_knowledge import TEXT, EmbeddingModels


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    folder = tmp_path / "restaurant"
    shutil.copytree(TEMPLATE, folder)
    (folder / KNOWLEDGE).mkdir()
    (folder / KNOWLEDGE / "house.md").write_text("# The house\n\nThe house was built in 1874.\n")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def titles(base: Path) -> list[str]:
    store = SqliteKnowledge.open(base)
    try:
        return [found.title for found in store.search("house", None)]
    finally:
        store.close()


async def test_documents_are_built_once_and_after_changes(agent: Path, cache: dict[str, str], monkeypatch):
    base = (await agent_bases([agent], (), None, cache))["my_agent"]
    assert Path(cache["XDG_CACHE_HOME"]) in base.parents
    assert titles(base) == ["The house"]
    with monkeypatch.context() as unchanged:
        unchanged.setattr(service.agent_knowledge, "_build", None)
        assert await agent_bases([agent], (), None, cache) == {"my_agent": base}
    (agent / KNOWLEDGE / "garden.txt").write_text("The garden of the house\n\nIt is open.\n")
    assert (await agent_bases([agent], (), None, cache))["my_agent"] == base
    assert len(titles(base)) == 2


async def test_what_needs_no_building(agent: Path, cache: dict[str, str]):
    assert await agent_bases([TEMPLATE], (), None, cache) == {}
    assert await agent_bases([agent], ["my_agent"], None, cache) == {}
    SqliteKnowledge.create(agent / BUILT, "words", DIMENSIONS).close()
    assert await agent_bases([agent], (), None, cache) == {"my_agent": agent / BUILT}


async def test_what_cannot_be_built_says_how(agent: Path, cache: dict[str, str], tmp_path: Path, monkeypatch):
    with pytest.raises(KnowledgeStoreError, match=r"no network for embeddings.*build them ahead with `vivavoce knowl"):
        await agent_bases([agent], (), tmp_path, cache)
    (tmp_path / "file").write_text("")
    with pytest.raises(KnowledgeStoreError, match="cannot be written"):
        await agent_bases([agent], (), None, {"XDG_CACHE_HOME": str(tmp_path / "file")})
    monkeypatch.setattr(service.agent_knowledge, "MAX_BUILD_SECONDS", 0.0)
    with pytest.raises(KnowledgeStoreError, match="it takes more than 0 s"):
        await agent_bases([agent], (), None, cache)


def test_check_reads_the_documents(agent: Path):
    assert check(agent) == ()
    (agent / KNOWLEDGE / "scan.pdf").write_bytes(scan(1))
    (problem,) = check(agent)
    assert "scan.pdf" in str(problem)
    shutil.rmtree(agent / KNOWLEDGE)
    (agent / KNOWLEDGE).mkdir()
    (problem,) = check(agent)
    assert "has no documents" in str(problem)


async def test_an_agent_answers_from_the_base_of_its_name(tmp_path: Path):
    store = SqliteKnowledge.create(tmp_path / "bar.db", "words", DIMENSIONS)
    store.replace(StoredDocument("boats.pdf", "Boats", "hash"), [Passage(1, TEXT)], embed([TEXT]))
    store.close()
    async with contextlib.AsyncExitStack() as cleanup:
        bases = open_bases({"bar": tmp_path / "bar.db"}, cleanup)
        dialogs = Dialogs({"bar": agent_of()}, DialogSessions())
        models = EmbeddingModels(0.001, 0.001, 0.001)
        running = Harness.running(bases=bases, models=models, dialogs=dialogs)
        harness = await cleanup.enter_async_context(running)
        _, (reply,) = await held(harness, "how old is the cargo boat?")
        assert reply.answer.source.base == "bar"
        assert reply.speech_text == TEXT, "the sentence of the passage"
        _, (reply,) = await held(harness, "how old is the cargo boat?", agent="")
        assert not reply.HasField("answer")
