"""Runs many dialogs side by side, and sums up what became of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import vivavoce
from benchmarks.dialogs.callers import call, callers
from benchmarks.dialogs.latency import compare
from benchmarks.dialogs.led import Outcome, lead, read_conversations
from benchmarks.dialogs.scripts import play, playable
from benchmarks.dialogs.voices import Voice
from benchmarks.sla.report import percentiles
from pipelines.dialog.agent.folder import read_agent, read_agent_scripts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

T = TypeVar("T")
R = TypeVar("R")


async def play_all(
    address: str, folder: Path, only: str, count: int, at_once: int, *, spoken: bool, verbose: bool
) -> dict[str, object]:
    """Plays the scripts of an agent; what fails is printed.

    Args:
        address: of the service.
        folder: of the agent.
        only: text in the names of the scripts.
        count: how many at most.
        at_once: conversations at a time.
        spoken: whether what callers say is spoken.
        verbose: whether all is printed.
    """
    name = read_agent(folder).form.name
    scripts = [script for script in read_agent_scripts(folder) if only in script.name and not playable(script)]
    async with vivavoce.connect(address) as client:
        voice = Voice(client) if spoken else None

        async def one(number: int) -> tuple[bool, bool, list[float]]:
            script = scripts[number]
            played = await play(client, name, script, voice, folder / "tests", number)
            _show(script.name, not played.failures, [*played.lines, *played.failures], verbose=verbose)
            return not played.failures, played.reached, played.turn_seconds

        found = await _bounded(one, range(len(scripts))[:count], at_once)
    return {
        "scripts": len(found),
        "spoken": spoken,
        "passed": sum(passed for passed, _, _ in found),
        "reached_the_end": sum(reached for _, reached, _ in found),
        "turn_latency_ms": percentiles(seconds for _, _, times in found for seconds in times),
    }


async def call_all(
    address: str, folder: Path, commands: Path, count: int, at_once: int, *, verbose: bool
) -> dict[str, object]:
    """Lets simulated callers order; the arguments are those of :func:`play_all`."""
    name = read_agent(folder).form.name
    async with vivavoce.connect(address) as client:
        voice = Voice(client)
        listed = callers(commands, count)

        async def one(number: int) -> tuple[bool, int, list[float]]:
            made = await call(client, name, listed[number], voice, number)
            lines = [*made.lines, f"wanted: {made.caller.wanted}", f"ordered: {made.ordered}"]
            _show(listed[number].order.name, made.completed, lines, verbose=verbose)
            return made.completed, made.corrections, made.turn_seconds

        found = await _bounded(one, range(len(listed)), at_once)
    completed = sum(done for done, _, _ in found)
    return {
        "callers": len(found),
        "completed": completed,
        "completion": round(completed / len(found), 4),
        "without_a_correction": sum(done and not corrections for done, corrections, _ in found),
        "turn_latency_ms": percentiles(seconds for _, _, times in found for seconds in times),
    }


async def lead_all(
    address: str, folder: Path, file: Path, only: str, at_once: int, *, spoken: bool, verbose: bool
) -> dict[str, object]:
    """Lets callers lead the conversations of a file; the other arguments are those of :func:`play_all`."""
    agent = read_agent(folder)
    listed = [one for one in read_conversations(file) if only in one.name]
    async with vivavoce.connect(address) as client:
        voice = Voice(client) if spoken else None

        async def one(number: int) -> Outcome:
            outcome = await lead(client, agent, listed[number], voice, number)
            _show(listed[number].name, outcome.reached, outcome.lines, verbose=verbose)
            return outcome

        found = await _bounded(one, range(len(listed)), at_once)
    reached = [outcome for outcome in found if outcome.reached]
    return {
        "conversations": len(found),
        "spoken": spoken,
        "reached": len(reached),
        "in_few_turns": sum(it.reached and it.turns <= led.at_most for it, led in zip(found, listed, strict=True)),
        "wrong_actions": sum(len(outcome.wrong) for outcome in found),
        "turns": sum(outcome.turns for outcome in found),
        "misunderstandings": sum(outcome.misses for outcome in found),
        "turn_latency_ms": percentiles(seconds for outcome in found for seconds in outcome.turn_seconds),
    }


async def compare_all(address: str, folder: Path, commands: Path, count: int) -> dict[str, object]:
    """Tells what an agent adds to turn latency; the arguments are those of :func:`play_all`."""
    recordings = [caller.answer for caller in callers(commands, count)]
    return await compare(address, read_agent(folder).form.name, list(dict.fromkeys(recordings)))


async def _bounded(work: Callable[[T], Awaitable[R]], items: Iterable[T], at_once: int) -> Sequence[R]:
    gate = asyncio.Semaphore(at_once)

    async def one(item: T) -> R:
        async with gate:
            while True:
                try:
                    return await work(item)
                except vivavoce.Overloaded as error:
                    # The machine is busy with something else.
                    await asyncio.sleep(error.retry_after_seconds or 1.0)

    return await asyncio.gather(*(one(item) for item in items))


def _show(name: str, passed: bool, lines: list[str], *, verbose: bool) -> None:
    print(f"{'passed' if passed else 'FAILED'}  {name}", flush=True)
    if verbose or not passed:
        print("".join(f"    {line}\n" for line in lines), end="", flush=True)
