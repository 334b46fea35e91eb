"""Faults at named places. Each breaks something for a while, and leaves everything as it was."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

import vivavoce
from tests.integration.engine_folders import intents
from tests.robustness.harness.judge import EVERYTHING, Promise
from tests.robustness.kills import TRITON, process_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from tests.robustness.harness.relay import Relay
    from tests.robustness.harness.world import World

OUTAGE_SECONDS = 3.0
DELAY_SECONDS = 0.3
LOSS = 0.1
CUT_BYTES = 40_000
SLOW_BYTES_PER_SECOND = 2_000.0
SPARE_FILES = 2
MAX_FILLED_BYTES = 2 << 30
_PATIENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        name: of the place and of what happens there.
        inject: does it, and waits until it is over.
        promise: what holds all the same.
        reconnects: whether callers make lost connections anew.
        needs_mounts: whether the service must be on small file systems of its own.
        restarts: whether Triton, or the service, is started again for it: a service gives up after a few of these.
    """

    name: str
    inject: Callable[[World], Awaitable[None]]
    promise: Promise = EVERYTHING
    reconnects: bool = False
    restarts: bool = False
    needs_mounts: bool = False


def _send(whose: str, number: signal.Signals) -> Callable[[World], Awaitable[None]]:
    async def inject(world: World) -> None:
        process_of(world.pid, whose).send_signal(number)

    return inject


def _on_relays(
    change: Callable[[Relay], contextlib.AbstractContextManager[None]],
) -> Callable[[World], Awaitable[None]]:
    """Changes the weather of every caller's connection for a while."""

    async def inject(world: World) -> None:
        with contextlib.ExitStack() as changes:
            for relay in world.relays:
                changes.enter_context(change(relay))
            await asyncio.sleep(OUTAGE_SECONDS)

    return inject


@contextlib.contextmanager
def _blackhole(relay: Relay) -> Iterator[None]:
    relay.weather.is_open.clear()
    yield
    relay.weather.is_open.set()


@contextlib.contextmanager
def _blackhole_and_reset(relay: Relay) -> Iterator[None]:
    with _blackhole(relay):
        yield
        relay.cut()


@contextlib.contextmanager
def _delay(relay: Relay) -> Iterator[None]:
    relay.weather.delay_seconds = DELAY_SECONDS
    yield
    relay.weather.delay_seconds = 0.0


@contextlib.contextmanager
def _loss(relay: Relay) -> Iterator[None]:
    relay.weather.loss = LOSS
    yield
    relay.weather.loss = 0.0


@contextlib.contextmanager
def _slow_reader(relay: Relay) -> Iterator[None]:
    relay.weather.bytes_per_second = SLOW_BYTES_PER_SECOND
    yield
    relay.weather.bytes_per_second = None


@contextlib.contextmanager
def _refuse(relay: Relay) -> Iterator[None]:
    relay.weather.is_there = False
    relay.cut()
    yield
    relay.weather.is_there = True


@contextlib.contextmanager
def _cut_after(relay: Relay) -> Iterator[None]:
    relay.weather.cut_after_bytes = CUT_BYTES
    yield


async def _steal_cpu(_: World) -> None:
    """Has twice as many processes compute as there are cores."""
    count = 2 * (os.cpu_count() or 1)
    thieves = [await asyncio.create_subprocess_exec(sys.executable, "-c", "while True: pass") for _ in range(count)]
    try:
        await asyncio.sleep(OUTAGE_SECONDS)
    finally:
        for thief in thieves:
            thief.kill()
            await thief.wait()


async def _few_files(world: World) -> None:
    """Leaves the service hardly a file to open, and kills a model meanwhile."""
    service = psutil.Process(world.pid)
    before = service.rlimit(psutil.RLIMIT_NOFILE)
    service.rlimit(psutil.RLIMIT_NOFILE, (service.num_fds() + SPARE_FILES, before[1]))
    try:
        process_of(world.pid, "intent_slot_bert").kill()
        await asyncio.sleep(OUTAGE_SECONDS)
    finally:
        service.rlimit(psutil.RLIMIT_NOFILE, before)


async def _full_disk(world: World) -> None:
    """Fills the file system of the service's temporary folder, and kills a model meanwhile."""
    with filled(world.temporary):
        process_of(world.pid, "intent_slot_bert").kill()
        await asyncio.sleep(OUTAGE_SECONDS)


async def _full_shared_memory(world: World) -> None:
    """Fills the shared memory that Triton and the processes of its models speak by."""
    server = process_of(world.pid, TRITON)
    with contextlib.ExitStack() as places:
        # Triton may have a shared memory of its own.
        await asyncio.to_thread(places.enter_context, filled(world.shared_memory_of(server.pid)))
        await asyncio.sleep(OUTAGE_SECONDS)


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fills a file system but for less than a block.

    Raises:
        RuntimeError: it is a large one, which others use too.
    """
    whole = os.statvfs(folder)
    if whole.f_blocks * whole.f_frsize > MAX_FILLED_BYTES:
        raise RuntimeError(f"the file system of {folder} is too large to be filled: mount a small one there")
    path = folder / "filled-by-the-harness"
    with path.open("wb", buffering=0) as file:
        try:
            block = bytes(1 << 20)
            with contextlib.suppress(OSError):
                while file.write(block):
                    pass
            yield
        finally:
            path.unlink()


async def _roll_out(world: World) -> None:
    """Loads a version of the engine for intents that is in order, one that is not, and rolls back."""
    number = world.next_number()
    good = intents(world.temporary / f"good-{number}", f"good{number}")
    bad = intents(world.temporary / f"bad-{number}", f"bad{number}")
    # Its intents have other names than its own examples say.
    (bad / "smoke.jsonl").write_text(json.dumps({"text": "turn off the lights", "intent": "iot_hue_lightoff"}))
    async with asyncio.timeout(_PATIENT_SECONDS), vivavoce.ModelAdmin(world.address) as models:
        await models.load(good)
        try:
            await models.load(bad)
        except vivavoce.InvalidRequest:
            pass
        else:
            raise AssertionError("a version that fails its own examples took over")
        await models.roll_back("intent_slot")


async def _replace(world: World) -> None:
    """Stops the service as an operator does, and starts another one at the same address."""
    await world.replace()


async def _step_clock(world: World) -> None:
    """Sets the clock of the service an hour forward, and then back again."""
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        os.kill(world.pid, number)
        await asyncio.sleep(OUTAGE_SECONDS / 2)


MAY_LACK = Promise(may_lack=True)

FAULTS = (
    Fault("kill asr", _send("asr", signal.SIGKILL)),
    Fault("stop asr", _send("asr", signal.SIGSTOP)),
    Fault("kill qa_bert", _send("qa_bert", signal.SIGKILL)),
    Fault("stop qa_bert", _send("qa_bert", signal.SIGSTOP)),
    Fault("kill intent_slot_bert", _send("intent_slot_bert", signal.SIGKILL)),
    Fault("stop intent_slot_bert", _send("intent_slot_bert", signal.SIGSTOP)),
    Fault("kill Triton", _send(TRITON, signal.SIGKILL), restarts=True),
    Fault("stop Triton", _send(TRITON, signal.SIGSTOP), restarts=True),
    Fault("blackhole", _on_relays(_blackhole)),
    Fault("blackhole, then reset", _on_relays(_blackhole_and_reset), reconnects=True),
    Fault("delay", _on_relays(_delay)),
    Fault("loss", _on_relays(_loss)),
    Fault("slow reader", _on_relays(_slow_reader)),
    Fault("nobody there", _on_relays(_refuse), reconnects=True),
    Fault("cut after bytes", _on_relays(_cut_after), reconnects=True),
    Fault("stolen CPU", _steal_cpu),
    Fault("few files", _few_files),
    Fault("full disk", _full_disk, needs_mounts=True),
    Fault("full shared memory", _full_shared_memory, MAY_LACK, needs_mounts=True),
    Fault("stepping clock", _step_clock),
    Fault("rollout with a bad engine", _roll_out),
    Fault("service replaced", _replace, reconnects=True, restarts=True),
)
"""All of them."""


def named(name: str) -> Fault:
    """Returns a fault by its name."""
    return next(fault for fault in FAULTS if fault.name == name)
