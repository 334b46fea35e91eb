"""Answers from knowledge bases: what is searched, read, chosen and told."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pipelines.data.answers import AnswerSearch, AnswerSource, Document
from pipelines.data.predictions import AnswerSpan
from pipelines.data.recognition import Timing
from pipelines.data.stages import QA
from pipelines.errors import ModelError
from pipelines.knowledge.bases import KnowledgeBases
from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.port import KnowledgeStoreError, StoredDocument
from pipelines.knowledge.store.sqlite import SqliteKnowledge
from pipelines.models.embedding_port import Embeddings
from pipelines.session.config import ConversationConfig
from pipelines.stages.answering_stage import AnsweringStage
from pipelines.stages.registry import StageRequest
from pipelines.stages.wording import answer_in_words
from tests.unit.pipelines.knowledge.embedding import DIMENSIONS, embed

if TYPE_CHECKING:
    from pathlib import Path


class FakeModels:
    """Finds years, with a score that grows with the year; embeds words."""

    def __init__(self):
        self.read: list[str] = []
        self.due: list[float | None] = []
        self.embedding_error: ModelError | None = None
        self.answers = self

    def get(self, role: str) -> FakeModels:
        assert role == "embed"
        return self

    async def embed(self, texts, due=None) -> Embeddings:
        self.due.append(due)
        if self.embedding_error is not None:
            raise self.embedding_error
        return Embeddings(embed(texts), Timing(0.5, 0.25))

    async def find(self, question: str, document: str, due=None) -> AnswerSpan:
        self.read.append(document)
        self.due.append(due)
        await asyncio.sleep(0)
        year = re.search(r"\d{4}", document)
        if year is None:
            return AnswerSpan(None, None, 0.9, Timing(0.0, 0.125))
        return AnswerSpan(year.start(), year.end(), int(year[0]) / 10_000, Timing(1.0, 0.125))


@pytest.fixture
def models() -> FakeModels:
    return FakeModels()


@pytest.fixture
def bases(tmp_path: Path):
    stores = {}
    for name in ("museum", "city"):
        stores[name] = SqliteKnowledge.create(tmp_path / f"{name}.db", "words", DIMENSIONS)
    put(stores["museum"], "boats.pdf", "Boats", "The cargo boat was built in 1874.", "Boats are red.")
    put(stores["city"], "bridge.md", "Bridge", "The bridge was built in 1901. It is long.")
    made = KnowledgeBases(stores)
    yield made
    made.close()


def put(store: SqliteKnowledge, path: str, title: str, *texts: str) -> None:
    passages = [Passage(number, text, ("History",), number + 4) for number, text in enumerate(texts, 1)]
    store.replace(StoredDocument(path, title, path), passages, embed(texts))


async def ask(bases: KnowledgeBases, models: FakeModels, question: str, config: ConversationConfig) -> AnswerSearch:
    request = StageRequest(question, config, due=7.0)
    (found,) = [found async for found in AnsweringStage(bases).run(request, models)]
    return found


async def test_the_answer_says_where_it_stands(bases, models):
    found = await ask(bases, models, "when was the boat built", ConversationConfig(knowledge=("museum",)))
    assert (found.answer.text, found.answer.document_id) == ("1874", "boats.pdf")
    source = found.answer.source
    assert source == AnswerSource("museum", "Boats", ("History",), 5, "The cargo boat was built in 1874.")
    assert source.passage[found.answer.start : found.answer.end] == "1874"
    assert set(models.due) == {7.0}


async def test_every_passage_is_read_by_itself_and_the_surest_answer_counts(bases, models):
    found = await ask(bases, models, "when was it built", ConversationConfig(knowledge=("museum", "city")))
    assert sorted(models.read) == [
        "Boats are red.",
        "The bridge was built in 1901. It is long.",
        "The cargo boat was built in 1874.",
    ]
    assert (found.answer.text, found.answer.source.base) == ("1901", "city")


async def test_costs_of_what_ran_at_once_are_not_added_up(bases, models):
    found = await ask(bases, models, "when was the boat built", ConversationConfig(knowledge=("museum",)))
    assert found.timing.queue_seconds == pytest.approx(1.5)
    assert 0.375 <= found.timing.compute_seconds < 0.375 + 1


async def test_documents_of_the_caller_are_read_beside(bases, models):
    documents = (Document("mine", "Mine is of 1999."),)
    config = ConversationConfig(documents=documents, knowledge=("museum",))
    found = await ask(bases, models, "when was it built", config)
    assert (found.answer.text, found.answer.document_id, found.answer.source) == ("1999", "mine", None)
    old = ConversationConfig(documents=(Document("mine", "Mine is of 1100."),), knowledge=("museum",))
    found = await ask(bases, models, "when was it built", old)
    assert (found.answer.text, found.answer.source.base) == ("1874", "museum")


async def test_without_an_answer_there_is_none(bases, models):
    found = await ask(bases, models, "red", ConversationConfig(knowledge=("museum",)))
    assert found.answer.text == "1874"
    bases._stores["museum"].remove(["boats.pdf"])
    found = await ask(bases, models, "red", ConversationConfig(knowledge=("museum",)))
    assert found.answer is None
    assert found.timing.queue_seconds == 0.5


async def test_without_embeddings_words_alone_are_searched(bases, models):
    models.embedding_error = ModelError("it is gone")
    found = await ask(bases, models, "when was the cargo delivered", ConversationConfig(knowledge=("museum",)))
    assert models.read == ["The cargo boat was built in 1874."]
    assert found.answer.text == "1874"


async def test_a_base_that_cannot_be_read_fails_the_stage(models, caplog):
    def fail(*_: object) -> None:
        raise KnowledgeStoreError("base.db cannot be read: check its rights")

    bases = KnowledgeBases({"broken": SimpleNamespace(search=fail)})
    with pytest.raises(ModelError, match="'broken' cannot be searched: the server's log says why"):
        await ask(bases, models, "anything", ConversationConfig(knowledge=("broken",)))
    assert "base.db cannot be read: check its rights" in caplog.text


def test_the_stage_is_wanted_with_documents_or_bases():
    stage = AnsweringStage()
    assert not stage.wanted(ConversationConfig())
    assert stage.wanted(ConversationConfig(knowledge=("museum",)))
    assert stage.wanted(ConversationConfig(documents=(Document("a", "b"),)))


async def test_the_sentence_of_the_passage_is_spoken(bases, models):
    config = ConversationConfig(knowledge=("city",))
    found = await ask(bases, models, "when was the bridge built", config)
    request = StageRequest("when was the bridge built?", config, {QA: found})
    assert answer_in_words(request) == "The bridge was built in 1901."
