"""Agents as tools of an MCP server, with the SDK's own client and the command on standard streams."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from pipelines.dialog.sessions import DialogSessions
from service.sessions.dialogs import Dialogs
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.service.harness import Harness
from tests.unit.service.test_dialogs import OrderingModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    dialogs = Dialogs({"bar": agent_of()}, DialogSessions())
    async with Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as running:
        yield running


def command(address: str, *agents: str) -> StdioServerParameters:
    program = str(Path(sys.executable).with_name("vivavoce"))
    named = [part for agent in agents for part in ("--agent", agent)]
    return StdioServerParameters(command=program, args=["mcp", "--server", address, *named])


async def asked(client: Client, **arguments: str) -> Any:
    result = await client.call_tool("ask_agent", arguments)
    return result.structured_content if not result.is_error else result.content


async def test_a_dialog_over_mcp(harness: Harness):
    async with Client(command(harness.address, "bar", "museum")) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["list_agents", "ask_agent"]
        assert (await client.call_tool("list_agents")).structured_content == {"agents": ["bar", "museum"]}
        first = await asked(client, agent="bar", text="a latte please")
        assert (first["says"], first["asked"], first["confirming"]) == ("Which size?", "size", False)
        second = await asked(client, agent="bar", text="small", session=first["session"])
        assert (second["says"], second["confirming"]) == ("1 small latte?", True)
        third = await asked(client, agent="bar", text="yes", session=first["session"])
        assert (third["says"], third["ended"]) == ("Done.", "")
        slots = {"drink": "latte", "size": "small", "count": "1"}
        assert third["fulfilments"] == [{"name": "order", "slots": slots}]
        assert (await asked(client, agent="bar", text="goodbye", session=first["session"]))["ended"] == "done"
        # A session of its own begins anew.
        assert (await asked(client, agent="bar", text="small"))["asked"] == ""
        (refusal,) = await asked(client, agent="bank", text="hello")
        assert (
            refusal.text.removeprefix("Error executing tool ask_agent: ")
            == "there is no agent 'bank': ask one of bar, museum"
        )
        (refusal,) = await asked(client, agent="museum", text="hello")
        assert "there is no agent 'museum'" in refusal.text


async def test_a_service_that_is_not_there():
    async with Client(command("127.0.0.1:1", "bar")) as client:
        (refusal,) = await asked(client, agent="bar", text="hello")
        assert "127.0.0.1:1" in refusal.text
