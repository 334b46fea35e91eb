"""Whether a service holds what it does not need: ``python -m benchmarks.soak`` talks to one for ten minutes.

Callers hold conversations with spoken replies, end them and begin others. Memory, open files and threads of the service
and of Triton are looked at all the time; what they were after the first minutes is set beside what they are at the end.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil

import vivavoce
from benchmarks.provenance import RESULTS, keep
from benchmarks.talking import speech
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOOK_SECONDS = 5.0
_SHORTEST_SECONDS, _LONGEST_SECONDS = 15.0, 60.0
_WARM_UP_SHARE, _WINDOW_SHARE = 0.2, 0.2
"""Of the whole time: what is passed over, and how long the beginning and the end are that are compared."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the processes hold at a moment.

    Attributes:
        service_mib: memory of the service that no other process shares (USS).
        models_mib: the same of Triton and its models' processes.
        files: open files of the service.
        threads: threads of the service.
    """

    service_mib: float
    models_mib: float
    files: int
    threads: int


@click.command()
@click.option("--conversations", type=click.IntRange(1), default=6, show_default=True, help="At a time.")
@click.option("--seconds", type=click.IntRange(30), default=600, show_default=True, help="How long they go on.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "soak.json", show_default=True)
def main(conversations: int, seconds: int, seed: int, out: Path) -> None:
    """Talk to a service for a while; keep what it held at the beginning and at the end."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = (*SERVE, "--max-conversations", "64", "--metrics-port", "0")
        with listening(arguments, Path(folder, "log")) as (process, address):
            looks, replies, held = asyncio.run(
                _soak(psutil.Process(process.pid), address, conversations, seconds, seed)
            )
    found = {"conversations": held, "replies": replies, **summary(looks)}
    click.echo(keep(out, f"python -m benchmarks.soak --conversations {conversations} --seconds {seconds}", found))


def summary(looks: Sequence[Look]) -> dict[str, object]:
    """Sets the end beside the beginning, after a warm-up."""
    skipped, length = round(len(looks) * _WARM_UP_SHARE), max(1, round(len(looks) * _WINDOW_SHARE))
    first, last = looks[skipped : skipped + length], looks[-length:]
    minute = max(1, round(60 / _LOOK_SECONDS))
    minutes = [looks[at : at + minute] for at in range(0, len(looks), minute)]
    found: dict[str, object] = {
        "service_mib_by_minute": [round(statistics.median(look.service_mib for look in some), 1) for some in minutes]
    }
    for name in Look.__slots__:
        before, after = (statistics.median(getattr(look, name) for look in window) for window in (first, last))
        found[name] = {
            "before": round(before, 1),
            "after": round(after, 1),
            "change_percent": round(100 * (after / before - 1), 2),
        }
    return found


async def _soak(
    service: psutil.Process, address: str, conversations: int, seconds: float, seed: int
) -> tuple[list[Look], int, int]:
    """Returns what was seen, how many replies came, and how many conversations were held."""
    looks: list[Look] = []
    replies: list[int] = []

    async def look() -> None:
        while True:
            looks.append(await asyncio.to_thread(_look, service))
            await asyncio.sleep(_LOOK_SECONDS)

    async def call(number: int) -> None:
        rng = random.Random(f"{seed}-{number}")
        ends = asyncio.get_running_loop().time() + seconds
        while (left := ends - asyncio.get_running_loop().time()) > 1:
            lasts = min(left, rng.uniform(_SHORTEST_SECONDS, _LONGEST_SECONDS))
            replies.append(await _converse(address, rng.randrange(1_000), lasts))

    looking = asyncio.create_task(look())
    try:
        async with asyncio.TaskGroup() as callers:
            for number in range(conversations):
                callers.create_task(call(number))
    finally:
        looking.cancel()
        await asyncio.wait((looking,))
    return looks, sum(replies), len(replies)


async def _converse(address: str, number: int, seconds: float) -> int:
    documents = ["The river museum opens at nine. Tram four stops in front of it."]
    async with vivavoce.connect(address) as client:
        events = client.converse(
            speech(number, seconds), documents=documents, interim_results=True, reply_audio=vivavoce.ReplyVoice()
        )
        return sum([isinstance(event, vivavoce.Reply) and not event.completes async for event in events])


def _look(service: psutil.Process) -> Look:
    models = [_own_mib(process) for process in service.children(recursive=True)]
    return Look(round(_own_mib(service), 1), round(sum(models), 1), service.num_fds(), service.num_threads())


def _own_mib(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().uss) / 2**20
    except psutil.NoSuchProcess:
        return 0.0


if __name__ == "__main__":
    main()
