"""Writes to callers, of whom some have stopped reading."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.session.outbox import SlowReaderError

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from service.grpc_server.errors import Context

WRITE_SECONDS = 20.0
"""A network that is lost for so long is noticed by keepalive: who does not read for so long does not want to."""


async def write(context: Context, response: Message) -> None:
    """Write a response, waiting for a slow reader.

    Raises:
        SlowReaderError: nothing was read for :data:`WRITE_SECONDS`.
    """
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            await context.write(response)
    except TimeoutError:
        raise SlowReaderError(f"no response was read for {WRITE_SECONDS:g} s: read them as they come") from None
