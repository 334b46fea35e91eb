"""A Wyoming server in front of a service without models, and the package's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from wyoming.client import AsyncTcpClient

import vivavoce
from vivavoce.wyoming import Settings, WyomingServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATIENCE_SECONDS = 10


@pytest.fixture
async def uri(client: vivavoce.Client) -> AsyncIterator[str]:
    settings = Settings(documents=[vivavoce.Document("The museum opens at nine.", id="museum.txt")])
    async with WyomingServer(client, settings).listening(("127.0.0.1", 0)) as uri:
        yield uri


@pytest.fixture
async def home(uri: str, no_task_left: None) -> AsyncIterator[AsyncTcpClient]:
    """The client of Home Assistant, connected."""
    async with AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as home:
        yield home
