"""Tools of MCP servers: the SDK's own servers over HTTP and as programs, and servers that hang, lie and die."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import socket
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import uvicorn

from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed
from pipelines.dialog.agent.fulfilment_checks import faults_of_fulfilments
from pipelines.dialog.agent.problems import AgentError
from service.fulfilment.circuit_breaker import MAX_FAILURES
from service.fulfilment.fulfillers import fulfillers_of
from service.fulfilment.http_calls import HttpCalls
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.service.fulfilment import mcp_program
from tests.unit.service.fulfilment.server import answers, closes, drips, floods, hangs, serving
from tests.unit.service.fulfilment.test_fulfillers import FOLDER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.service.fulfilment.server import Behaviour

PROGRAM = shlex.join((sys.executable, mcp_program.__file__ or ""))
TASK = Fulfil(4, "order", "order", {"drink": "latte", "size": "small", "count": "1"}, parameters={"house": "bar"})


def programs() -> int:
    return sum("mcp_program" in " ".join(child.cmdline()) for child in psutil.Process().children())


@pytest.fixture
async def calls() -> AsyncIterator[HttpCalls]:
    calls = HttpCalls()
    yield calls
    await calls.close()
    assert programs() == 0


@contextlib.asynccontextmanager
async def over_http() -> AsyncIterator[str]:
    app = mcp_program.server.streamable_http_app(stateless_http=True)
    http = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running = asyncio.create_task(http.serve([listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        http.should_exit = True
        await running


async def outcome(calls: HttpCalls, environment: dict[str, str] | None = None, times: int = 1, **form: Any) -> Any:
    made = {"deadline_seconds": 30, "tool": "order", **form}
    agent = agent_of({**BAR, "fulfilments": {"order": {"mcp": made}}})
    assert list(faults_of_fulfilments(agent)) == []
    fulfiller = fulfillers_of(agent, FOLDER, calls, {"SERVER": PROGRAM, "SECRET": "hushed", **(environment or {})})
    for _ in range(times):
        (event,) = [event async for event in fulfiller["order"].carry_out(TASK, "session")]
    return event


async def test_a_tool_over_http_and_of_a_program(calls: HttpCalls):
    async with over_http() as url:
        for where in ({"url": url}, {"command_env": "SERVER"}):
            event = await outcome(calls, times=2, **where)
            assert programs() == (1 if "command_env" in where else 0)
            # What the agent has no slot for is left out: `number` and `house`.
            assert isinstance(event, Fulfilled)
            assert event.slots == {"size": "large", "drink": "latte", "count": "2"}
            assert (event.number, event.say, event.parameters) == (4, "", {})


async def test_texts_fill_a_slot_in_whole_sentences_that_can_be_spoken(calls: HttpCalls):
    form = {"tool": "weather", "arguments": {"place": "{house}[, {roast}]"}, "into": "roast"}
    async with over_http() as url:
        said = (await outcome(calls, url=url, **form)).slots["roast"]
    assert said.startswith("Rain in bar. It is no secret. More. More.")
    assert len(said) <= 1_000
    event = await outcome(calls, command_env="SERVER", variables=["SECRET"], **form)
    assert event.slots["roast"].startswith("Rain in bar. It is hushed.")


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        ("fail", "the tool 'fail' reports an error"),
        ("no_such_tool", ""),
        ("hang", "no whole answer within 1 s"),
        ("flood", "breaks off"),
    ],
)
async def test_a_tool_that_fails(calls: HttpCalls, tool: str, problem: str, caplog: pytest.LogCaptureFixture):
    async with over_http() as url:
        event = await outcome(
            calls, url=url, tool=tool, arguments={"drink": "latte"}, deadline_seconds=30 if tool == "flood" else 1
        )
    assert isinstance(event, FulfilmentFailed)
    assert problem in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (hangs, "no whole answer within 0.5 s"),
        (drips, "no whole answer within 0.5 s"),
        (floods, "does not answer as it should"),
        (closes, "does not answer as it should"),
        (answers({"jsonrpc": "2.0", "id": 1, "result": "secret"}), ""),
        (answers(b"secret"), ""),
        (answers(status=401), "does not answer as it should"),
        (answers(status=302, Location="http://127.0.0.1:1/secret"), "does not answer as it should"),
    ],
)
async def test_a_server_with_bad_manners(
    calls: HttpCalls, behaviour: Behaviour, problem: str, caplog: pytest.LogCaptureFixture
):
    async with serving(behaviour) as server:
        assert isinstance(await outcome(calls, url=server.url, deadline_seconds=0.5), FulfilmentFailed)
    assert problem in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("command", "tool", "problem"),
    [
        (PROGRAM, "die", "breaks off"),
        (PROGRAM, "hang", "no whole answer within 2 s"),
        (f"{PROGRAM} noise", "order", "no whole answer within 2 s"),
        ("/no/such/program", "order", "does not answer as it should (FileNotFoundError)"),
    ],
)
async def test_a_program_with_bad_manners(
    calls: HttpCalls, command: str, tool: str, problem: str, caplog: pytest.LogCaptureFixture
):
    form = {"command_env": "SERVER", "tool": tool, "arguments": {"drink": "x"}}
    event = await outcome(calls, {"SERVER": command}, **form, deadline_seconds=30 if tool == "die" else 2)
    assert isinstance(event, FulfilmentFailed)
    assert problem in caplog.text


async def test_a_server_that_fails_again_and_again_is_left_alone(calls: HttpCalls, caplog: pytest.LogCaptureFixture):
    async with serving(closes) as server:
        for _ in range(MAX_FAILURES + 1):
            await outcome(calls, url=server.url)
        asked = len(server.requests)
        await outcome(calls, url=server.url)
        assert len(server.requests) == asked
    assert "is left alone" in caplog.text


def test_what_is_wrong_with_the_file_is_told():
    def faults(**mcp: Any) -> list[str]:
        agent = agent_of({**BAR, "fulfilments": {"order": {"mcp": {"tool": "order", **mcp}}}})
        return [f"{'.'.join(map(str, place[2:]))}: {message}" for place, message in faults_of_fulfilments(agent)]

    assert faults(url="https://example.com/mcp") == []
    assert faults()[0].startswith("mcp: exactly one of `url`, `url_env` and `command_env`")
    assert faults(url="https://example.com/mcp", command_env="X")[0].startswith("mcp: exactly one of")
    assert faults(url="http://example.com/mcp")[0].startswith("mcp.url: http beyond this machine")
    assert faults(command_env="X", headers_env={"X-Key": "KEY"})[0].startswith("mcp.headers_env: a program gets no")
    assert faults(url_env="X", variables=["KEY"])[0].startswith("mcp.variables: a URL gets no variables")
    assert faults(command_env="X", arguments={"a": "{milk}"})[0].startswith("mcp.arguments.a: {milk} names nothing")
    assert faults(command_env="X", into="milk")[0].startswith("mcp.into: 'milk' is no slot")


async def test_variables_that_are_missing_are_told(calls: HttpCalls):
    agent = agent_of({**BAR, "fulfilments": {"order": {"mcp": {"tool": "order", "command_env": "SERVER"}}}})
    with pytest.raises(AgentError, match="the environment variable SERVER is not set"):
        fulfillers_of(agent, FOLDER, calls, {})
    with pytest.raises(AgentError, match="SERVER has a quote without its partner"):
        fulfillers_of(agent, FOLDER, calls, {"SERVER": "python 'x"})
