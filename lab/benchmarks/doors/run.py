"""Measures the doors of a service that it starts: words, turn latency, and CPU."""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import psutil
import soundfile
import soxr

from benchmarks.doors.clients import CONVERSATIONS, DOORS, RATE_HZ, Service
from service.processes.child_process import SERVE, http_url_of, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from benchmarks.doors.clients import Heard, Samples

AT_A_TIME = 4
_BASE = "grpc"
"""What the others are compared with."""
SILENCE_SECONDS = 1.5
_LOUD = 0.02
"""Of the loudest sample of a recording; what is softer behind the last word is no sound of it."""


def recordings_in(folder: Path, count: int) -> list[Path]:
    """Returns the first recordings of a folder, by their names."""
    return sorted(path for path in folder.iterdir() if path.suffix in {".flac", ".wav"})[:count]


def measure(
    folder: Path, count: int, live: int, speakers: int, seconds: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """Returns what was found.

    Args:
        folder: of recordings, one turn each.
        count: how many are compared.
        live: how many are spoken at the pace of speech over each door.
        speakers: conversations at a time while CPU is measured.
        seconds: how long they last.
        say: told what goes on.
    """
    recordings = recordings_in(folder, count)
    with tempfile.TemporaryDirectory() as logs:
        arguments = [*SERVE, "--http-port", "0", "--max-conversations", "64"]
        with listening(arguments, Path(logs) / "log.txt") as (process, address):
            url = http_url_of(process)
            return asyncio.run(_measure(address, url, process.pid, recordings, (live, speakers, seconds), say))


async def _measure(
    address: str,
    url: str,
    pid: int,
    recordings: Sequence[Path],
    sizes: tuple[int, int, float],
    say: Callable[[str], None],
) -> dict[str, Any]:
    live, speakers, seconds = sizes
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(url, timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        service = Service(address, url, session)
        say(f"the words of {len(recordings)} recordings over {len(DOORS)} doors")
        words = await _words(service, recordings)
        say(f"{live} turns over {len(CONVERSATIONS)} doors, at the pace of speech")
        latency = await _latency(service, recordings[:live])
        say(f"{speakers} conversations for {seconds:g} s, twice over {len(CONVERSATIONS)} doors")
        cpu = await _cpu(service, recordings, psutil.Process(pid), speakers, seconds)
    return {"words": words, "turn_latency_ms": latency, "cpu": cpu}


async def _words(service: Service, recordings: Sequence[Path]) -> dict[str, Any]:
    """How many recordings have the same text over a door as over gRPC."""
    places = asyncio.Semaphore(AT_A_TIME)
    texts: dict[str, dict[str, str]] = {name: {} for name in DOORS}

    async def hear(name: str, path: Path) -> None:
        async with places:
            heard = await DOORS[name](service, _read(path), False)
            texts[name][path.name] = heard.text

    await asyncio.gather(*(hear(name, path) for path in recordings for name in DOORS))
    base = texts[_BASE]
    same = {name: sum(text == base[path] for path, text in found.items()) for name, found in texts.items()}
    different = {
        name: {path: [base[path], text] for path, text in found.items() if text != base[path]}
        for name, found in texts.items()
        if same[name] < len(base)
    }
    return {"recordings": len(base), "same_as_grpc": same, "different": different}


async def _latency(service: Service, recordings: Sequence[Path]) -> dict[str, Any]:
    """From the last sound of a recording to its reply, in one run: the doors take turns."""
    found: list[dict[str, float]] = []
    order = random.Random(1)
    for path in recordings:
        samples = _read(path)
        loudness = np.abs(samples.astype(np.int32))
        last_sound = (int(np.flatnonzero(loudness > _LOUD * loudness.max())[-1]) + 1) / RATE_HZ
        turn = {}
        for name in order.sample(CONVERSATIONS, len(CONVERSATIONS)):
            heard: Heard = await DOORS[name](service, samples, True)
            if heard.replied_at is not None:
                turn[name] = 1000 * (heard.replied_at - heard.began_at - last_sound)
        found.append(turn)
    return {
        name: _summary([(turn[name], turn[_BASE]) for turn in found if {name, _BASE} <= turn.keys()])
        for name in CONVERSATIONS
    }


def _summary(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    return {
        "turns": len(pairs),
        "median": round(statistics.median(mine for mine, _ in pairs), 1),
        "median_difference": round(statistics.median(mine - base for mine, base in pairs), 1),
    }


async def _cpu(
    service: Service, recordings: Sequence[Path], process: psutil.Process, speakers: int, seconds: float
) -> dict[str, Any]:
    """Cores that the service's own process takes, and all of its processes with Triton's."""
    own: dict[str, list[float]] = {name: [] for name in CONVERSATIONS}
    whole: dict[str, list[float]] = {name: [] for name in CONVERSATIONS}
    for name in (*CONVERSATIONS, *reversed(CONVERSATIONS)):
        async with _speaking(service, name, recordings, speakers):
            await asyncio.sleep(3.0)  # Connections are opened.
            before, all_before = _seconds([process]), _seconds(_family(process))
            await asyncio.sleep(seconds)
            own[name].append((_seconds([process]) - before) / seconds)
            whole[name].append((_seconds(_family(process)) - all_before) / seconds)
    base = statistics.fmean(own[_BASE])
    return {
        name: {
            "service_cores": round(statistics.fmean(own[name]), 4),
            "of_grpc": round(statistics.fmean(own[name]) / base, 3),
            "with_triton_cores": round(statistics.fmean(whole[name]), 3),
        }
        for name in CONVERSATIONS
    }


@contextlib.asynccontextmanager
async def _speaking(service: Service, name: str, recordings: Sequence[Path], speakers: int) -> AsyncIterator[None]:
    """Holds conversations while the body runs, each with recordings one after the other and pauses between them."""
    order = random.Random(2)
    scripts = [
        np.concatenate([_read(path) for path in order.sample([*recordings], len(recordings))]) for _ in range(speakers)
    ]
    tasks = [asyncio.ensure_future(DOORS[name](service, script, True)) for script in scripts]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
                raise RuntimeError("a conversation ended early: take more recordings, or fewer seconds")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def _seconds(processes: Sequence[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _read(path: Path) -> Samples:
    """Returns a recording at 16 kHz, with silence behind it."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    mono = soxr.resample(samples.mean(axis=1), rate, RATE_HZ) if rate != RATE_HZ else samples.mean(axis=1)
    whole = np.concatenate((mono, np.zeros(round(SILENCE_SECONDS * RATE_HZ), np.float32)))
    found: Samples = np.round(np.clip(whole, -1, 1) * 32767).astype("<i2")
    return found
