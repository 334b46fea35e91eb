"""An HTTP server on a real socket that behaves as a test says, well or badly."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Behaviour = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """What came, and what is answered: one behaviour a request, the last one from then on."""

    behaviours: list[Behaviour]
    requests: list[Request] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Request(method, path, headers, body)
        behaviour = self.behaviours[min(len(self.requests), len(self.behaviours) - 1)]
        self.requests.append(request)
        await behaviour(request, writer)
        await writer.drain()


@contextlib.asynccontextmanager
async def serving(*behaviours: Behaviour) -> AsyncIterator[Server]:
    server = Server(list(behaviours))
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(server.serve(reader, writer)))

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def answers(content: Any = None, status: int = 200, kind: str = "application/json", **headers: str) -> Behaviour:
    body = content if isinstance(content, bytes) else b"" if content is None else json.dumps(content).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join((*lines, "", "")).encode() + body)

    return answer


async def hangs(request: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def closes(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def breaks_off(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{"say"')
    await writer.drain()
    writer.close()


async def drips(request: Request, writer: asyncio.StreamWriter) -> None:
    """Sends a byte from time to time, so that no pause is long."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\nContent-Type: application/json\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def floods(request: Request, writer: asyncio.StreamWriter) -> None:
    """Never ends its answer."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n")
    while True:
        writer.write(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
        await writer.drain()
