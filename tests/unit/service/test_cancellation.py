"""Calls whose handlers are cancelled, at the worst moments, without a socket and in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests import virtual_time
from tests.unit.service.harness import speaking
from tests.unit.service.virtual_service import CONFIG, VirtualService

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from vivavoce.v1 import conversation_pb2 as pb


async def utterance_without_end(cleanup_seconds: float = 0.0) -> AsyncIterator[pb.ConverseRequest]:
    for request in (CONFIG, *speaking(1)):
        yield request
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await asyncio.sleep(cleanup_seconds)


def test_a_handler_that_is_cancelled_while_it_waits_for_its_reader_is_cancelled():
    async def main() -> None:
        service = VirtualService(idle_seconds=10.0, grace_seconds=1.0)
        handler = service.call(utterance_without_end(cleanup_seconds=5.0))
        await asyncio.sleep(12)
        assert not handler.done()
        handler.cancel()
        await asyncio.wait((handler,))
        assert handler.cancelled()
        await asyncio.sleep(10)

    virtual_time.run(main())


@pytest.mark.parametrize("steps", range(8))
def test_a_handler_that_is_cancelled_again_and_again_leaves_nothing_behind(steps: int):
    async def main() -> None:
        service = VirtualService()
        handler = service.call(utterance_without_end())
        await asyncio.sleep(2)
        assert service.models.open_sequences
        while not handler.done():
            handler.cancel()
            for _ in range(steps):
                await asyncio.sleep(0)
            if not steps:
                handler.cancel()
                await asyncio.wait((handler,), timeout=0.001)
        await asyncio.sleep(5)
        assert service.models.open_sequences == []
        assert service.models.turns_released == service.models.turns_begun
        assert not service.open.workload.precedence.tellers

    virtual_time.run(main())
