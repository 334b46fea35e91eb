"""Rounds of faults: callers talk, something breaks, and what they recorded is judged."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import vivavoce
from tests.robustness.harness.callers import hold_all, speakers, typists
from tests.robustness.harness.judge import judge
from tests.robustness.harness.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.robustness.harness.callers import Caller
    from tests.robustness.harness.faults import Fault
    from tests.robustness.harness.judge import Violation
    from tests.robustness.harness.record import Record

RESTARTS_OF_A_SERVICE = 4
"""A service ends itself at the sixth end of its Triton within five minutes."""

RECOVERED = vivavoce.NoticeCode.MODEL_RECOVERED

_EARLIEST_SECONDS, _LATEST_SECONDS = 0.5, 3.0


@dataclass(slots=True)
class Outcome:
    """What came of one round.

    Attributes:
        fault: name of what went wrong.
        at_seconds: after the beginning of the round.
        utterances: that were said.
        reconnections: of callers.
        recoveries: turns of which a notice says that a model was lost and did its work again.
        longest_seconds: of the conversations.
        violations: what was promised and not kept.
    """

    fault: str
    at_seconds: float
    utterances: int
    reconnections: int
    recoveries: int
    longest_seconds: float
    violations: list[Violation] = field(default_factory=list)


async def play(world: World, callers: Sequence[Caller], addresses: Sequence[str], fault: Fault, at: float) -> Outcome:
    """Have callers talk until something has gone wrong, and for one more utterance each.

    Args:
        world: the service.
        callers: who talks.
        addresses: where each connects.
        fault: what goes wrong.
        at: when, in seconds.
    """
    over = asyncio.Event()
    enough: dict[str, int] = {}

    def until(record: Record) -> bool:
        if over.is_set():
            enough.setdefault(record.caller, len(record.said) + 1)
        return len(record.said) >= enough.get(record.caller, len(record.said) + 1)

    async def disturb() -> None:
        try:
            await asyncio.sleep(at)
            await fault.inject(world)
        finally:
            over.set()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(disturb())
        talking = tasks.create_task(hold_all(callers, addresses, until, reconnects=fault.reconnects))
    records = talking.result()
    events = [event for record in records for event in record.events]
    return Outcome(
        fault.name,
        round(at, 2),
        sum(len(record.said) for record in records),
        sum(isinstance(event, vivavoce.Reconnected) for event in events),
        sum(isinstance(event, vivavoce.Notice) and event.code is RECOVERED for event in events),
        round(max(record.seconds for record in records), 1),
        judge(records, fault.promise),
    )


async def rounds(
    folder: Path, faults: Sequence[Fault], seed: int, speaking: int = 4, typing: int = 2
) -> AsyncIterator[Outcome]:
    """Play one round for each of some faults, on as few services as is possible; yields what comes of each.

    Args:
        folder: for logs and temporary files.
        faults: what goes wrong, in order.
        seed: of when it does.
        speaking: callers who speak.
        typing: callers who type.
    """
    chance = random.Random(seed)
    waiting = list(faults)
    callers: list[Caller] = []
    while waiting:
        place = folder / f"service-{len(faults) - len(waiting)}-{time.monotonic_ns()}"
        place.mkdir()
        async with World.running(place, speaking + typing) as (world, addresses):
            callers = callers or [*await speakers(world.address, speaking), *typists(typing)]
            restarts = 0
            while waiting and restarts + waiting[0].restarts <= RESTARTS_OF_A_SERVICE:
                fault = waiting.pop(0)
                restarts += fault.restarts
                await world.settle()
                yield await play(world, callers, addresses, fault, chance.uniform(_EARLIEST_SECONDS, _LATEST_SECONDS))
