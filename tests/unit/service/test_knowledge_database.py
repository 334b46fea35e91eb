"""Knowledge bases in a real PostgreSQL: built and searched by the command, served while the server comes and goes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from google.protobuf.duration_pb2 import Duration

from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.location import create_base
from pipelines.knowledge.store.port import StoredDocument
from service.knowledge import open_bases
from tests.postgres_server import PASSWORD, PostgresServer, postgres_server
from tests.unit.pipelines.knowledge.embedding import DIMENSIONS, embed
from tests.unit.service.harness import Harness
from tests.unit.service.test_knowledge import TEXT, EmbeddingModels
from tests.unit.service.test_knowledge_cli import folder, lines
from vivavoce.cli import run
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["folder"]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
async def harness(server: PostgresServer) -> AsyncIterator[Harness]:
    server.add("served")
    url = server.url("served", base="boats")
    store = create_base(url, "words", DIMENSIONS)
    passage = Passage(1, TEXT, ("History", "Cargo"), 5)
    store.replace(StoredDocument("boats.pdf", "Boats", "hash"), [passage], embed([TEXT]))
    store.close()
    async with contextlib.AsyncExitStack() as cleanup:
        bases = open_bases({"museum": url, "boats": server.url("served")}, cleanup)
        models = EmbeddingModels(0.001, 0.001, 0.001)
        yield await cleanup.enter_async_context(Harness.running(bases=bases, models=models))


async def test_a_conversation_goes_on_without_the_server_and_with_it_again(harness: Harness, server, caplog):
    stream = harness.stub.Converse()
    # Whatever else the machine does, an answer comes in time.
    config = pb.ConversationConfig(knowledge=["museum", "boats"], reply_budget=Duration(seconds=5))
    await stream.write(pb.ConverseRequest(config=config))
    assert (await stream.read()).HasField("started")

    async def asked() -> tuple[str, list[str]]:
        await stream.write(pb.ConverseRequest(text="how old is the boat?"))
        notices: list[str] = []
        while True:
            response = await stream.read()
            if response.HasField("notice"):
                notices.append(response.notice.message)
            if response.HasField("reply"):
                return response.reply.answer.text, notices

    assert await asked() == ("1874", [])
    server.stop()
    async with asyncio.timeout(10):
        while not (told := await asked())[1]:
            assert told[0] == "", "the answer is missing, whether it failed or was late"
    answer, (notice, *_) = told
    assert answer == ""
    assert "cannot be searched: the server's log says why" in notice
    assert "does not answer: check that it runs" in caplog.text
    assert PASSWORD not in caplog.text
    server.start()
    async with asyncio.timeout(10):
        while (await asked())[0] != "1874":
            await asyncio.sleep(0.1)
    await stream.done_writing()


def test_build_and_search(folder, server: PostgresServer, capsys):
    server.add("built")
    url = server.url("built", base="museum")
    assert run(["knowledge", "build", str(folder), "--to", url]) == 0
    assert "?base=museum: 2 documents, 3 passages (2 read, 0 unchanged, 0 removed)" in capsys.readouterr().out
    assert run(["knowledge", "build", str(folder), "--to", url, "--json"]) == 0
    assert lines(capsys.readouterr().out)[-1]["unchanged"] == 2
    assert run(["knowledge", "search", url, "how old is the freighter", "--limit", "1"]) == 0
    assert capsys.readouterr().out == "Boats, page 2 (boats.pdf)\nThe cargo boat was built in 1874.\n\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name where the base is built: --out NAME.db, or --to"),
        (["--to", "museum.db"], "--to takes postgresql://"),
        (["--to", "postgresql://x:secret@localhost:1/db"], "names no base"),
        (["--to", "postgresql://x:secret@localhost:1/db?base=x"], "does not answer: check that it runs"),
    ],
)
def test_errors_say_what_to_do(folder, capsys, arguments, message):
    assert run(["knowledge", "build", str(folder), *arguments]) in {1, 2}
    told = capsys.readouterr()
    assert message in told.err
    assert "secret" not in told.err
