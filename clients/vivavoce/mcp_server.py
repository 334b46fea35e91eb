"""MCP server whose tools are the agents of a service; it needs the package `mcp`."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from vivavoce._dialog import Session
from vivavoce._errors import VivavoceError
from vivavoce._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vivavoce._client import Client
    from vivavoce._reply import Reply

_INSTRUCTIONS = (
    "Agents hold dialogs: they ask for what is missing, and for a confirmation before they carry something out. Give"
    " an agent the words of your user, and your user the words of the agent. Answer its questions with what your user"
    " says, above all where `confirming` is true. Send the `session` of a reply with the next turn."
)


def make_server(client: Client, agents: Sequence[str]) -> MCPServer[Any]:
    """Make a server with the tools `list_agents` and `ask_agent`.

    Args:
        client: Of the service.
        agents: Names of the agents that may be asked.
    """
    server: MCPServer[Any] = MCPServer("vivavoce", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")

    @server.tool()
    async def list_agents() -> dict[str, list[str]]:
        """List the agents that can be asked."""
        return {"agents": list(agents)}

    @server.tool()
    async def ask_agent(agent: str, text: str, session: str = "") -> dict[str, Any]:
        """Say something to an agent, and get its reply.

        Args:
            agent: Name of the agent, of `list_agents`.
            text: What the user says, at most 2,000 characters.
            session: The `session` of the agent's last reply; empty begins a dialog.
        """
        if agent not in agents:
            raise ToolError(f"there is no agent {agent[:64]!r}: ask one of {', '.join(agents)}")
        session = session or secrets.token_hex(8)
        try:
            reply = await client.ask(text, agent=agent, session=Session(session))
        except VivavoceError as error:
            raise ToolError(str(error)) from error
        return _told(reply, session)

    return server


def _told(reply: Reply, session: str) -> dict[str, Any]:
    """Return what came of a turn: words, what is asked for, and how the dialog ends."""
    replies = (reply, *reply.followed)
    dialogs = [one.dialog for one in replies if one.dialog is not None]
    last = dialogs[-1] if dialogs else None
    end = next((one.end for one in dialogs if one.end is not None), None)
    return {
        "says": " ".join(one.speech_text for one in replies if one.speech_text),
        "session": session,
        "intent": last.intent if last else "",
        "slots": dict(last.slots) if last else {},
        "asked": last.asked if last else "",
        "confirming": last.confirming if last else False,
        "fulfilments": [
            {"name": task.name, "slots": dict(task.slots)} for dialog in dialogs for task in dialog.fulfilments
        ],
        "ended": end.value.lower() if end else "",
    }
