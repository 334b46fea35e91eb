"""Many requests at a time, but never too many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")
OnProgress: TypeAlias = Callable[[int, int], None]
"""Is told how many items of how many are done."""


async def bounded_map(
    work: Callable[[Item], Awaitable[Result]],
    items: Sequence[Item],
    concurrency: int,
    on_progress: OnProgress,
) -> list[Result]:
    """Maps ``work`` over ``items``, at most ``concurrency`` at a time.

    Args:
        work: is done on each item.
        items: what it is done on.
        concurrency: how many are worked on at a time.
        on_progress: called whenever one is done.

    Returns:
        The results in the order of the items.

    Raises:
        Exception: the first that ``work`` raised; what else was under way is cancelled.
    """
    places = asyncio.Semaphore(concurrency)
    done = 0

    async def one(item: Item) -> Result:
        nonlocal done
        async with places:
            result = await work(item)
        done += 1
        on_progress(done, len(items))
        return result

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in items]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]
