"""`vivavoce mcp`: the agents of a service as tools of an MCP server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from vivavoce.cli.connection import Connection, server_option
from vivavoce.cli.extras import extra

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command()
@server_option
@click.option(
    "--agent",
    "agents",
    metavar="NAME",
    multiple=True,
    required=True,
    help="Agent of the service that can be asked. May be repeated.",
)
def mcp(*, server: Connection, agents: Sequence[str]) -> None:
    """Serve agents to programs that speak MCP, over standard input and output.

    The tools are `list_agents` and `ask_agent`. Replies come from the service that --server names. Whoever runs this
    command is its caller, with the rights of the token that it is given.
    """
    with extra("mcp", "The MCP server"):
        from vivavoce.mcp_server import make_server  # noqa: PLC0415 - needs an optional package

    async def serve() -> None:
        async with server.connect() as client:
            await make_server(client, agents).run_stdio_async()

    asyncio.run(serve())
