from __future__ import annotations

import asyncio

import pytest

from lab.tests.unit.modelkit.evaluation.fakes import silent
from modelkit.evaluation.concurrency import bounded_map


async def test_no_more_at_a_time_than_allowed_and_progress_is_told():
    running = highest = 0
    progress = []

    async def work(item: int) -> int:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await asyncio.sleep(0)
        running -= 1
        return item * 2

    results = await bounded_map(work, list(range(20)), 3, lambda *done: progress.append(done))
    assert results == [2 * n for n in range(20)]
    assert highest == 3
    assert progress == [(n, 20) for n in range(1, 21)]


async def test_the_first_error_comes_as_it_is_and_ends_the_rest():
    begun, ended = [], []

    async def work(item: int) -> None:
        begun.append(item)
        try:
            if item == 2:
                raise LookupError("item 2")
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    with pytest.raises(LookupError, match="item 2"):
        await bounded_map(work, [0, 1, 2, 3], 3, silent)
    assert sorted(ended) == sorted(begun)
    assert {0, 1, 2} <= set(ended)
