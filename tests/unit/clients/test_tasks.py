"""Tasks that end with their block, and time limits as Python 3.10 gets them."""

from __future__ import annotations

import asyncio
import sys

import pytest

from vivavoce._tasks import TaskScope
from vivavoce._timeout import Timeout


async def fail() -> None:
    await asyncio.sleep(0)
    raise EOFError("gone")


async def test_a_block_waits_for_its_tasks() -> None:
    async with TaskScope() as tasks:
        task = tasks.create_task(asyncio.sleep(0.01, "done"))
    assert task.result() == "done"


async def test_a_task_that_fails_ends_the_block_and_the_other_tasks(no_task_left: None) -> None:
    with pytest.raises(EOFError, match="gone"):
        async with TaskScope() as tasks:
            other = tasks.create_task(asyncio.sleep(60))
            tasks.create_task(fail())
            await asyncio.sleep(60)
    assert other.cancelled()
    if sys.version_info >= (3, 11):
        assert asyncio.current_task().cancelling() == 0


async def test_a_task_that_fails_while_the_block_waits_for_it_is_told_too() -> None:
    with pytest.raises(EOFError, match="gone"):
        async with TaskScope() as tasks:
            other = tasks.create_task(asyncio.sleep(60))
            tasks.create_task(fail())
    assert other.cancelled()


async def test_an_error_in_the_block_ends_its_tasks() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with TaskScope() as tasks:
            other = tasks.create_task(asyncio.sleep(60))
            await asyncio.sleep(0)
            raise ValueError("mine")
    assert other.cancelled()


async def test_a_task_that_was_cancelled_is_no_error() -> None:
    async with TaskScope() as tasks:
        tasks.create_task(asyncio.sleep(60)).cancel()


@pytest.mark.parametrize("inside", [True, False])
async def test_whoever_cancels_the_block_from_outside_cancels_its_tasks(inside: bool) -> None:
    started: list[asyncio.Task[None]] = []

    async def block() -> None:
        async with TaskScope() as tasks:
            started.append(tasks.create_task(asyncio.sleep(60)))
            if inside:
                await asyncio.sleep(60)

    task = asyncio.create_task(block())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert started[0].cancelled()


@pytest.mark.parametrize("seconds", [0.01, 0, -1])
async def test_a_block_over_its_time_ends_in_a_timeout(seconds: float) -> None:
    limit = Timeout(seconds)
    with pytest.raises(TimeoutError):
        async with limit:
            await asyncio.sleep(60)
    assert limit.expired()


async def test_a_block_within_its_time_is_left_alone() -> None:
    async with Timeout(0.01) as limit:
        pass
    await asyncio.sleep(0.03)
    assert not limit.expired()


async def test_a_cancellation_from_outside_is_no_timeout() -> None:
    async def block() -> None:
        async with Timeout(60):
            await asyncio.sleep(60)

    task = asyncio.create_task(block())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
