"""Latency, cost and intelligibility of synthesized speech.

``python -m benchmarks.speech_out`` starts the service and has sentences with numbers, times and amounts spoken, one at
a time; then it lets the same service recognize what it said.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil

import vivavoce
from benchmarks.provenance import RESULTS, keep
from benchmarks.speech_out.report import Spoken, summary
from benchmarks.speech_out.sentences import sentences
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMAT = vivavoce.AudioFormat(sample_rate_hz=16_000)
_BYTES_A_SECOND = 32_000
_CHUNK_BYTES = _BYTES_A_SECOND // 4
_SILENCE_BYTES = _BYTES_A_SECOND // 4
"""Behind each sentence: in a second of digital silence the recognizer hears "thank you"."""


@click.command()
@click.option("--count", type=click.IntRange(20), default=200, show_default=True, help="How many sentences.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which sentences.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "speech-out.json", show_default=True)
def main(count: int, seed: int, out: Path) -> None:
    """Speak and hear again; keep what was found."""
    with (
        tempfile.TemporaryDirectory() as directory,
        listening([*SERVE], Path(directory, "log.txt")) as (process, address),
    ):
        family = psutil.Process(process.pid).children(recursive=True)
        (voice,) = (one for one in family if "tts_0_0" in one.cmdline())
        spoken = asyncio.run(_measure(address, sentences(count, seed), voice))
        memory = {
            "voice_mib": _mib([voice]),
            "service_mib": _mib([psutil.Process(process.pid), *family]),
        }
    found = summary(spoken) | {"memory": memory}
    print(keep(out, f"python -m benchmarks.speech_out --count {count} --seed {seed}", found))


async def _measure(address: str, texts: Sequence[str], voice: psutil.Process) -> list[Spoken]:
    found = []
    async with vivavoce.connect(address) as client:
        await _say(client, "Good morning.")
        for text in texts:
            cpu = _cpu_seconds(voice)
            audio, first = await _say(client, text)
            cpu = _cpu_seconds(voice) - cpu
            heard = await _hear(client, audio)
            found.append(Spoken(text, heard, first, cpu, len(audio) / _BYTES_A_SECOND))
    return found


async def _say(client: vivavoce.Client, text: str) -> tuple[bytes, float]:
    began, first, audio = time.perf_counter(), 0.0, bytearray()
    async for chunk in client.say(text, audio=_FORMAT):
        first = first or time.perf_counter() - began
        audio += chunk.audio
    return bytes(audio), first


async def _hear(client: vivavoce.Client, audio: bytes) -> str:
    padded = audio + bytes(_SILENCE_BYTES)
    chunks = [padded[start : start + _CHUNK_BYTES] for start in range(0, len(padded), _CHUNK_BYTES)]
    # What is said in a sentence is one utterance, whatever pauses are in it.
    endpointing = vivavoce.Endpointing(disabled=True)
    events = client.converse(chunks, audio=_FORMAT, endpointing=endpointing, reply_budget_seconds=10)
    return " ".join([event.text async for event in events if isinstance(event, vivavoce.Transcript) and event.is_final])


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _mib(processes: Sequence[psutil.Process]) -> int:
    """Returns the memory of processes, what they share counted once."""
    return round(sum(process.memory_full_info().pss for process in processes) / (1 << 20))


if __name__ == "__main__":
    main()
