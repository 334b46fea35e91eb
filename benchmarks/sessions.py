"""What kept sessions cost: memory of the service, and bytes in Redis.

``python -m benchmarks.sessions`` holds short dialogs with the coffee bar, and keeps their sessions in memory. With
``--redis URL`` it stores them there and tells how many bytes each takes.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.dialog.agent.folder import read_agent
from pipelines.dialog.by_example import ExampleUnderstanding
from pipelines.dialog.sessions import DialogSessions

if TYPE_CHECKING:
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.sessions import Sessions

COFFEE_BAR = Path(__file__).parents[1] / "demo/agents/coffee_bar"
CALLERS_WORDS = ("a large latte with oat milk please", "two of them", "yes", "a small mocha")


@click.command()
@click.option("--sessions", "count", default=1_000, show_default=True, help="Sessions that are kept.")
@click.option("--redis", metavar="URL", help="Keep them in this Redis, not in memory.")
def main(count: int, redis: str | None) -> None:
    """Measure what kept sessions cost."""
    asyncio.run(_measure(count, redis))


async def _measure(count: int, url: str | None) -> None:
    agent = read_agent(COFFEE_BAR)
    if url is None:
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        sessions = DialogSessions()
        await _hold(agent, sessions, count)
        after, _ = tracemalloc.get_traced_memory()
        click.echo(f"{len(sessions)} sessions in memory: {(after - before) / 2**20:.1f} MiB")
        return
    from redis.asyncio import Redis  # noqa: PLC0415 - needs an extra

    from service.sessions.redis_sessions import RedisSessions  # noqa: PLC0415

    shared = RedisSessions(url)
    async with Redis.from_url(url) as client:
        before = (await client.info("memory"))["used_memory"]
        began = asyncio.get_running_loop().time()
        await _hold(agent, shared, count)
        seconds = asyncio.get_running_loop().time() - began
        after = (await client.info("memory"))["used_memory"]
    await shared.close()
    click.echo(
        f"{count} sessions in Redis: {(after - before) / 2**20:.1f} MiB, {1000 * seconds / count:.1f} ms a stream"
    )


async def _hold(agent: Agent, sessions: Sessions, count: int) -> None:
    """Holds a dialog in every session."""
    understand, now = ExampleUnderstanding(agent), dt.datetime.now(dt.UTC)
    for number in range(count):
        async with sessions.open(agent, f"caller {number}") as session:
            for text in CALLERS_WORDS:
                session.commit(session.preview(text, understand(text, now)))


if __name__ == "__main__":
    main()
