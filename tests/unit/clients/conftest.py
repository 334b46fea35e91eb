"""What the tests of the client share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

import vivavoce
from tests.unit.clients.fake_service import FakeService, serving
from tests.unit.clients.lost_servers import Servers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serving() as fake:
        yield fake


@pytest.fixture
async def client(service: FakeService) -> AsyncIterator[vivavoce.Client]:
    async with vivavoce.connect(service.address, response_timeout_seconds=5) as client:
        yield client


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    servers = Servers()
    yield servers
    await servers.stop()


@pytest.fixture
async def no_task_left() -> AsyncIterator[None]:
    """Fails a test that leaves a task running."""
    before = asyncio.all_tasks()
    yield
    for _ in range(100):
        left = {task for task in asyncio.all_tasks() - before if "vivavoce" in repr(task.get_coro())}
        if not left:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"tasks were left running: {left}")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Half a second of stereo at 22,050 Hz: the left channel at 0.5, the right one silent."""
    path = tmp_path / "tone.wav"
    samples = np.zeros((11_025, 2), np.float32)
    samples[:, 0] = 0.5
    soundfile.write(path, samples, 22_050, subtype="FLOAT")
    return path
