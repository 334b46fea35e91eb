from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.service.http.running import Openai

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def service() -> AsyncIterator[Openai]:
    async with Openai.running() as openai:
        yield openai
