"""Knowledge bases that callers name: over the wire and back, and what a service needs for them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import grpc
import pytest

import vivavoce
from pipelines.data.recognition import Timing
from pipelines.errors import InvalidInputError
from pipelines.knowledge.bases import KnowledgeBases
from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.port import StoredDocument
from pipelines.knowledge.store.sqlite import SqliteKnowledge
from pipelines.models.embedding_port import Embeddings
from service.app import Registries
from service.knowledge import MAX_NAMED, check_bases, open_bases
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.pipelines.knowledge.embedding import DIMENSIONS, embed
from tests.unit.service.harness import Harness
from vivavoce._look_back import LookBack
from vivavoce.cli._rows import reply_rows
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TEXT = "1874 is the year of the cargo boat."
"""The fake model answers with a text's first word."""
SOURCE = vivavoce.AnswerSource("museum", "Boats", ("History", "Cargo"), 5, TEXT)


class EmbeddingModels(FakeModels):
    async def embed(self, texts, due=None) -> Embeddings:
        return Embeddings(embed(texts), Timing(0, 0))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "museum.db"
    store = SqliteKnowledge.create(path, "words", DIMENSIONS)
    passage = Passage(1, TEXT, ("History", "Cargo"), 5)
    store.replace(StoredDocument("boats.pdf", "Boats", "hash"), [passage], embed([TEXT]))
    store.close()
    return path


@pytest.fixture
async def harness(base: Path) -> AsyncIterator[Harness]:
    async with contextlib.AsyncExitStack() as cleanup:
        bases = open_bases({"museum": base, "city": base}, cleanup)
        models = EmbeddingModels(0.001, 0.001, 0.001)
        yield await cleanup.enter_async_context(Harness.running(bases=bases, models=models))


async def test_a_typed_turn_is_answered_from_a_base(harness: Harness):
    answer = (await harness.stub.Ask(pb.AskRequest(text="how old is the boat?", knowledge=["museum"]))).reply.answer
    assert (answer.text, answer.document_id) == ("1874", "boats.pdf")
    assert answer.source == reply_pb2.AnswerSource(
        base="museum", title="Boats", headings=["History", "Cargo"], page=5, passage=TEXT
    )
    without = (await harness.stub.Ask(pb.AskRequest(text="how old is the boat?"))).reply
    assert not without.HasField("answer")


async def test_the_sdk_names_bases_and_tells_the_source(harness: Harness):
    async with vivavoce.connect(harness.address) as client:
        asked = await client.ask("how old is the boat?", knowledge=["museum"])
        turns = client.converse([vivavoce.TypedTurn("how old is the boat?")], audio=None, knowledge=["museum"])
        (said,) = [event async for event in turns if isinstance(event, vivavoce.Reply)]
    rows = {row.label: row.text for row in reply_rows(asked, 0.3)}
    assert rows["answer"] == '"1874" (80%; Boats > History > Cargo, page 5)'
    for reply in (asked, said):
        assert reply.answer.source == SOURCE
        assert reply.to_dict()["answer"]["source"] == {
            "base": "museum",
            "title": "Boats",
            "headings": ["History", "Cargo"],
            "page": 5,
            "passage": TEXT,
        }


async def test_a_base_that_is_not_served_is_refused(harness: Harness):
    with pytest.raises(grpc.aio.AioRpcError, match="no knowledge base 'zoo' is served: name one of museum, city"):
        await harness.stub.Ask(pb.AskRequest(text="x", knowledge=["zoo"]))
    async with vivavoce.connect(harness.address) as client:
        with pytest.raises(vivavoce.InvalidRequest) as caught:
            async for _ in client.converse([], audio=None, knowledge=["museum", "zoo"]):
                pass
    assert "zoo" in str(caught.value)


def test_names_are_checked():
    assert check_bases(["a", "b", "a"], ("a", "b"), "f") == ("a", "b")
    assert check_bases([], (), "f") == ()
    with pytest.raises(InvalidInputError, match="leave it out, or serve one") as caught:
        check_bases(["a"], (), "config.knowledge")
    assert (caught.value.field, caught.value.reason) == ("config.knowledge", "UNKNOWN_KNOWLEDGE_BASE")
    many = tuple(map(str, range(MAX_NAMED + 1)))
    with pytest.raises(InvalidInputError, match=f"name at most {MAX_NAMED}"):
        check_bases(many, many, "f")


@pytest.mark.parametrize("names", ["museum", [1], None])
async def test_the_sdk_takes_a_list_of_names(names: object):
    async with vivavoce.connect("localhost:1") as client:
        with pytest.raises(TypeError):
            await client.ask("x", knowledge=names)


def test_embeddings_are_served_where_there_are_bases(base: Path):
    lists = Registries()
    assert lists.with_bases(KnowledgeBases({})) is lists
    store = SqliteKnowledge.open(base)
    served = lists.with_bases(KnowledgeBases({"museum": store}))
    store.close()
    assert served.engines.names == (*lists.engines.names, "embed")
    assert [stage.name for stage in served.stages] == [stage.name for stage in lists.stages]


async def test_the_sdk_changes_the_bases_in_mid_stream(harness: Harness):
    update = vivavoce.ConversationUpdate
    said = [
        update(knowledge=("museum",)),
        vivavoce.TypedTurn("how old?"),
        update(knowledge=()),
        vivavoce.TypedTurn("x?"),
    ]
    async with vivavoce.connect(harness.address) as client:
        events = [event async for event in client.converse(said, audio=None)]
        with pytest.raises(vivavoce.InvalidRequest, match="zoo"):
            async for _ in client.converse([update(knowledge=("zoo",))], audio=None):
                pass
        with pytest.raises(TypeError, match="list of names"):
            async for _ in client.converse([update(knowledge="museum")], audio=None):
                pass
    answers = [event.answer for event in events if isinstance(event, vivavoce.Reply)]
    assert [answer.text if answer else None for answer in answers] == ["1874", None]


def test_what_holds_is_kept_for_another_stream():
    look_back = LookBack(None)
    look_back.sent(pb.ConverseRequest(text="a latte", request_id="1"))
    for names in (["a", "b"], ["c"]):
        update = pb.ConversationUpdate(knowledge=pb.KnowledgeList(knowledge=names))
        look_back.sent(pb.ConverseRequest(update=update))
    _, requests = look_back.begin_anew()
    assert next(iter(requests)).update.knowledge.knowledge == ["c"]
