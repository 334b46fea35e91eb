"""What others feel while one caller attacks: ``python -m benchmarks.hostile``.

For each attack a service with its own Triton is started, with at most 1,024 open files. An attacker in a process of its
own does its worst for some seconds, while typed turns over new connections and a live conversation are timed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil

import vivavoce
from benchmarks.hostile.attacks import ATTACKS
from benchmarks.markdown import table
from benchmarks.provenance import keep
from demo.manifest import utterances
from service.processes.bound_program import bound
from service.processes.child_process import SERVE, StartError, start, stop, wait_for_address
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_FILES = 1_024
"""Files that the service may have open: ``ulimit -n``."""
NONE = "nobody attacks"

_SECONDS = 10.0
_ASK_PAUSE_SECONDS = 0.1
_SAMPLE_SECONDS = 0.05
_PATIENCE_SECONDS = 20.0
_TEXT = "turn on the light in the kitchen"


@dataclass(slots=True)
class Felt:
    """What the other callers felt, and what the service took."""

    asked_ms: list[float] = field(default_factory=list)
    replied_ms: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    peak_bytes: int = 0


@click.command()
@click.option("--attack", "names", type=click.Choice(list(ATTACKS)), multiple=True, help="Default: all, one by one.")
@click.option("--seconds", type=click.FloatRange(1, 60), default=_SECONDS, show_default=True)
@click.option("--json", "json_file", type=FileToWrite(), help="Keep the result here.")
def main(*, names: tuple[str, ...], seconds: float, json_file: Path | None) -> None:
    """Attack a service in every way, one by one, and print what other callers felt."""
    found = asyncio.run(_attack_in_turn((NONE, *(names or ATTACKS)), seconds))
    click.echo(_markdown(found), nl=False)
    if json_file is not None:
        chosen = "".join(f" --attack {name}" for name in names)
        keep(json_file, f"python -m benchmarks.hostile{chosen} --seconds {seconds:g}", found)


@contextlib.contextmanager
def serving(log: Path) -> Iterator[tuple[int, str]]:
    """Run a service that may have few files open while the body runs; yield its process id and address.

    Raises:
        StartError: it does not come up.
    """
    shell = ["/bin/sh", "-c", f'ulimit -n {MAX_FILES} && exec "$@"', "sh"]
    with log.open("wb") as file:
        process = start([*shell, sys.executable, *SERVE], file)
    try:
        address = wait_for_address(process)
        if address is None:
            raise StartError(f"the service did not come up:\n{log.read_text(errors='replace')[-4_000:]}")
        yield process.pid, address
    finally:
        stop(process)


async def _attack_in_turn(names: Sequence[str], seconds: float) -> dict[str, dict[str, object]]:
    found = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder, "log")) as (pid, address):
            felt, done = await _attack(name, pid, address, seconds)
            found[name] = _summary(felt) | {"attacker": done, "log_bytes": _size_of(Path(folder, "log"))}
    return found


def _size_of(file: Path) -> int:
    return file.stat().st_size


async def _attack(name: str, pid: int, address: str, seconds: float) -> tuple[Felt, str]:
    felt = Felt()
    watching = [
        asyncio.create_task(work) for work in (_ask(address, felt), _converse(address, felt), _sample(pid, felt))
    ]
    try:
        if name == NONE:
            await asyncio.sleep(seconds)
            done = "-"
        else:
            done = await _run_attack(name, address, seconds)
            # What an attack leaves behind is felt, too.
            await asyncio.sleep(1.0)
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    return felt, done


async def _run_attack(name: str, address: str, seconds: float) -> str:
    """Run an attack in a process of its own; return what it did."""
    command = [sys.executable, "-m", "benchmarks.hostile.attacks", address, name, str(seconds)]
    process = await asyncio.create_subprocess_exec(*bound(command), stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    return ", ".join(f"{key} {value}" for key, value in json.loads(said.splitlines()[-1]).items())


async def _ask(address: str, felt: Felt) -> None:
    """Ask over a new connection, again and again."""
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), vivavoce.connect(address) as client:
                await client.ask(_TEXT)
            felt.asked_ms.append(1_000 * (loop.time() - began))
        except (vivavoce.VivavoceError, TimeoutError) as error:
            felt.failed.append(f"{type(error).__name__}: {error}")
        await asyncio.sleep(_ASK_PAUSE_SECONDS)


async def _converse(address: str, felt: Felt) -> None:
    """Hold live conversations, one after another."""
    utterance = next(one for one in utterances() if one.kind == "command")
    recording = vivavoce.read_audio(utterance.path)

    while True:
        try:
            async with vivavoce.connect(address) as client:
                async for event in client.converse(
                    vivavoce.pace(recording.chunks(), recording.sample_rate_hz), audio=recording.format
                ):
                    if isinstance(event, vivavoce.Reply) and not event.completes:
                        felt.replied_ms.append(1_000 * (event.client_latency_seconds or 0.0))
                        if event.status is not vivavoce.ReplyStatus.COMPLETE:
                            felt.failed.append(f"a reply is {event.status.name}")
        except vivavoce.VivavoceError as error:
            felt.failed.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(_ASK_PAUSE_SECONDS)


async def _sample(pid: int, felt: Felt) -> None:
    process = psutil.Process(pid)
    while True:
        felt.peak_bytes = max(felt.peak_bytes, process.memory_info().rss)
        await asyncio.sleep(_SAMPLE_SECONDS)


def _summary(felt: Felt) -> dict[str, object]:
    return {
        "asked": len(felt.asked_ms),
        "ask_ms_max": round(max(felt.asked_ms, default=0.0)),
        "replies": len(felt.replied_ms),
        "reply_ms_max": round(max(felt.replied_ms, default=0.0)),
        "failed": len(felt.failed),
        "failures": sorted(set(felt.failed))[:5],
        "peak_mib": round(felt.peak_bytes / (1 << 20)),
    }


def _markdown(found: dict[str, dict[str, object]]) -> str:
    heads = ["attack", "typed turns", "slowest ms", "live replies", "slowest ms", "failed", "peak MiB", "attacker"]
    keys = ("asked", "ask_ms_max", "replies", "reply_ms_max", "failed", "peak_mib", "attacker")
    return table(heads, [[name, *(str(one[key]) for key in keys)] for name, one in found.items()]) + "\n"


if __name__ == "__main__":
    main()
