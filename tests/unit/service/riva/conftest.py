from collections.abc import AsyncIterator

import pytest

from tests.unit.service.harness import Harness


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running
