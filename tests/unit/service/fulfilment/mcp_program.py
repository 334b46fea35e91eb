"""An MCP server on standard streams, with tools that do well and badly."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp.server import MCPServer

server: MCPServer[Any] = MCPServer("orders")


@server.tool()
async def order(drink: str, size: str = "small", count: str = "1") -> dict[str, Any]:
    """Place an order."""
    return {"size": "large", "number": 7, "drink": drink, "count": int(count) + 1, "house": "ours"}


@server.tool()
async def weather(place: str) -> str:
    """Tell the weather."""
    return f"**Rain** in {place}. It is {os.environ.get('SECRET', 'no secret')}. " + "More. " * 2_000


@server.tool()
async def fail() -> str:
    """Fail."""
    raise ValueError("secret of the tool")


@server.tool()
async def hang() -> str:
    """Never answer."""
    await asyncio.sleep(3600)
    return ""


@server.tool()
async def die() -> str:
    """End the program."""
    os._exit(3)


@server.tool()
async def flood() -> str:
    """Answer with a megabyte."""
    return "x" * 1_000_000


if __name__ == "__main__":
    if sys.argv[1:] == ["noise"]:
        sys.stdout.write("this is no JSON\n" * 100)
        sys.stdout.flush()
        sys.stdin.read()
    server.run()
