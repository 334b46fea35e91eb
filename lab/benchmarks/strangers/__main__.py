"""Measures a spoken conversation at the audio: ``make bench-strangers``, or ``python -m benchmarks.strangers``.

voicebench plays seven questions of the demonstration, two interruptions and a cough into a service of our own, in
frames of 20 ms, and judges what a person would hear.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
from voicebench.bench import run_benchmark
from voicebench.report import render_console
from voicebench.scenario import parse_scenario

from benchmarks.provenance import keep
from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, read_items, samples
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.sla.material import Item

_QUESTIONS = 7
_COUGH_SECONDS = 0.2
_QUESTION_DELAY_MS, _INTERRUPTION_DELAY_MS = 700, 600
_MATRIX = 1_000
_SOUND = 328
"""Samples above it are sound: -40 dB of full scale."""


def main() -> None:
    """Starts a service, and whatever is to disturb it, and measures conversations with it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=main.__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="conversations [default: 3]")
    parser.add_argument("--multipliers", type=int, default=0, help="processes beside it that multiply matrices")
    parser.add_argument("--services", type=int, default=0, help="more services beside it, each under load")
    parser.add_argument("--json", type=Path, help="file for the summary")
    given = parser.parse_args()
    items = [item for item in read_items(DEMONSTRATION) if item.document is not None]
    with tempfile.TemporaryDirectory(prefix="vivavoce-strangers-") as directory, contextlib.ExitStack() as stack:
        folder = Path(directory)
        document = folder / "documents.txt"
        paths = sorted({item.document for item in items if item.document is not None})
        document.write_text("\n\n".join(path.read_text(encoding="utf-8") for path in paths), encoding="utf-8")
        scenario = parse_scenario(write_scenario(items, folder))
        addresses = [
            stack.enter_context(listening([*SERVE], folder / f"serve-{number}.log"))[1]
            for number in range(1 + given.services)
        ]
        stack.enter_context(multiplying(given.multipliers))
        for address in addresses[1:]:
            stack.enter_context(talking(address))
        options = {"address": addresses[0], "document": str(document)}
        name = "benchmarks.strangers.adapter:VivavoceAdapter"
        found = asyncio.run(run_benchmark(scenario, name, options, repeat=given.repeat))
    print(render_console(found.report, found.sessions))
    if given.json:
        command = " ".join(["python -m benchmarks.strangers", *sys.argv[1:]])
        keep(given.json, command, {"neighbours": _neighbours(given), **found.summary})


def _neighbours(given: argparse.Namespace) -> dict[str, int]:
    return {"multipliers": given.multipliers, "services": given.services}


def write_scenario(items: Sequence[Item], folder: Path) -> dict[str, Any]:
    """Writes recordings and returns the scenario: questions, and between them interruptions and a cough."""
    turns: list[dict[str, Any]] = []

    def add(name: str, audio: Path, start: dict[str, object], expect: str, text: str | None = None) -> None:
        turn = {"id": name, "audio": {"file": str(audio)}, "start": start, "expect": expect}
        turns.append(turn | ({} if text is None else {"text": text}))

    cough = folder / "cough.wav"
    soundfile.write(cough, cough_like(), RATE_HZ)
    for number, item in enumerate(items[:_QUESTIONS]):
        path = folder / f"{item.path.stem}.wav"
        soundfile.write(path, spoken(item), RATE_HZ)
        after = "session_start" if not turns else "agent_speech_end"
        expect, start = "respond", {"after": after, "delay_ms": _QUESTION_DELAY_MS}
        add(item.path.stem, path, start, expect, item.text)
        over = {"after": "agent_speech_start", "delay_ms": _INTERRUPTION_DELAY_MS}
        if number in (1, 4):
            other = items[_QUESTIONS + number]
            path = folder / f"{other.path.stem}.wav"
            soundfile.write(path, spoken(other), RATE_HZ)
            add(f"{other.path.stem} over it", path, over, "stop")
        elif number == 2:
            add("cough over it", cough, over, "ignore")
    return {
        "name": "museum, moon and bees", "sample_rate": RATE_HZ, "frame_ms": 20, "max_duration_ms": 240_000,
        "defaults": {"response_timeout_ms": 10_000}, "turns": turns,
    }  # fmt: skip


def spoken(item: Item) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Returns a recording up to its last sound: voicebench waits for replies from its end on."""
    audio = samples(item.path)
    return audio[: np.flatnonzero(np.abs(audio) > _SOUND)[-1] + 1]


def cough_like() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Returns a burst of noise that dies away, at 16 kHz."""
    count = round(_COUGH_SECONDS * RATE_HZ)
    noise = np.random.default_rng(1).standard_normal(count)
    shape = np.exp(-np.arange(count) / (0.3 * count)) * np.minimum(1, np.arange(count) / (0.05 * count))
    cough: np.ndarray[Any, np.dtype[np.float32]] = (0.2 * noise * shape).astype(np.float32)
    return cough


@contextlib.contextmanager
def multiplying(count: int) -> Iterator[None]:
    """Keeps so many processes busy with products of matrices."""
    processes = [multiprocessing.Process(target=_multiply, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _multiply() -> None:
    one = np.random.default_rng(2).standard_normal((_MATRIX, _MATRIX))
    while True:
        one @ one


@contextlib.contextmanager
def talking(address: str) -> Iterator[None]:
    """Has callers talk to another service all the time."""
    process = multiprocessing.Process(target=_talk, args=(address,), daemon=False)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _talk(address: str) -> None:
    from benchmarks.sla.load import run_load  # noqa: PLC0415 - in a process of its own
    from benchmarks.sla.scripts import Mix, write_scripts  # noqa: PLC0415 - see above

    while True:
        run_load(address, write_scripts(read_items(DEMONSTRATION), 8, 30.0, Mix(listeners=0.1, questions=0.3), seed=1))


if __name__ == "__main__":
    main()
