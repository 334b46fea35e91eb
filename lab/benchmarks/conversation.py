"""What one machine does for a few conversations: latency, accuracy, idle cost and memory.

``python -m benchmarks.conversation [latency] [accuracy] [idle] [memory]`` starts the service with its own Triton, runs
the named measurements (all of them by default), prints one JSON object, and writes it to ``benchmarks/results/``.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import jiwer
import numpy as np
import psutil
import soundfile
import soxr

import vivavoce
from benchmarks.provenance import RESULTS, keep
from benchmarks.sla.load import UNGUARDED
from benchmarks.sla.report import percentiles
from benchmarks.words import WORDS
from demo.manifest import utterances
from engines.build.moonshine import find_assets
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    import numpy.typing as npt

RATE = 16_000
CHUNK = RATE // 10
PCM = vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM, RATE)

TWO_CITIES = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of "
    "foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of Light, it "
    "was the season of Darkness, it was the spring of hope, it was the winter of despair, we had everything "
    "before us, we had nothing before us, we were all going direct to Heaven, we were all going direct the "
    "other way -- in short, the period was so far like the present period, that some of its noisiest "
    "authorities insisted on its being received, for good or for evil, in the superlative degree of comparison "
    "only."
)


async def latency(address: str, _: psutil.Process) -> dict[str, object]:
    """One conversation at the pace of speech: reply latency over twenty utterances, two ways of ending them."""
    return {
        "endpointed": await _latency(address, push_to_talk=False),
        "push_to_talk": await _latency(address, push_to_talk=True),
    }


async def _latency(address: str, *, push_to_talk: bool) -> dict[str, object]:
    # The twelve commands, and the four questions about one document twice: a conversation has one set of documents.
    commands = [utterance for utterance in utterances() if utterance.kind == "command"]
    questions = [utterance for utterance in utterances() if utterance.document == "documents/river_museum.txt"]
    chosen = (commands + questions + questions)[:20]
    documents = questions[0].documents()

    async def speak() -> AsyncIterator[vivavoce.Utterable]:
        for utterance in chosen:
            samples, _ = soundfile.read(utterance.path, dtype="int16")
            if push_to_talk:
                # The button is let go 100 ms after the last sound: nothing can be worked out beforehand.
                samples = samples[: np.flatnonzero(np.abs(samples) > 300)[-1] + CHUNK]
            for start in range(0, len(samples), CHUNK):
                yield samples[start : start + CHUNK].tobytes()
            if push_to_talk:
                yield vivavoce.EndOfUtterance()
                for _ in range(5):
                    yield bytes(2 * CHUNK)

    endpointing = vivavoce.Endpointing(disabled=True) if push_to_talk else None
    async with vivavoce.connect(address) as client:
        events = client.converse(
            _paced(speak()), audio=PCM, interim_results=True, endpointing=endpointing, documents=documents
        )
        replies = [event async for event in events if isinstance(event, vivavoce.Reply) and not event.completes]
    server = [reply.latency.total_seconds for reply in replies]
    client_side = [reply.client_latency_seconds for reply in replies if reply.client_latency_seconds is not None]
    return {
        "utterances": len(chosen),
        "replies": len(replies),
        "complete": sum(reply.status is vivavoce.ReplyStatus.COMPLETE for reply in replies),
        "speculated": sum(reply.speculated for reply in replies),
        "server_ms": percentiles(server),
        "client_ms": percentiles(client_side),
        "wer": round(jiwer.wer([u.text for u in chosen], [r.transcript for r in replies], WORDS, WORDS), 4)
        if len(replies) == len(chosen)
        else None,
    }


async def _paced(chunks: AsyncIterator[vivavoce.Utterable]) -> AsyncIterator[vivavoce.Utterable]:
    """Yields audio when it would have been recorded; the schedule is absolute, so that delays do not add up."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    async for chunk in chunks:
        if isinstance(chunk, bytes):
            due += len(chunk) / 2 / RATE
            await asyncio.sleep(max(0.0, due - loop.time()))
        yield chunk


async def accuracy(address: str, _: psutil.Process) -> dict[str, object]:
    """Word error rate on a human reading of *A Tale of Two Cities*, beside moonshine-voice's own transcriber."""
    weights = find_assets()
    samples, rate = soundfile.read(weights.parent / "two_cities.wav", dtype="float32")
    samples = soxr.resample(samples, rate, RATE)

    async def speak() -> AsyncIterator[vivavoce.Utterable]:
        for start in range(0, len(samples), CHUNK):
            yield (samples[start : start + CHUNK] * 32767).astype("<i2").tobytes()

    async with vivavoce.connect(address) as client:
        events = client.converse(_paced(speak()), audio=PCM)
        finals = [event.text async for event in events if isinstance(event, vivavoce.Transcript) and event.is_final]
    return {
        "two_cities_wer": round(jiwer.wer(TWO_CITIES, " ".join(finals), WORDS, WORDS), 4),
        "moonshine_voice_wer": round(jiwer.wer(TWO_CITIES, _transcriber_text(weights, samples), WORDS, WORDS), 4),
    }


def _transcriber_text(weights: Path, samples: npt.NDArray[np.float32]) -> str:
    """Transcribes with moonshine-voice's own library, in one go."""
    import moonshine_voice  # noqa: PLC0415 - loads a native library, which only this comparison needs

    transcriber = moonshine_voice.Transcriber(str(weights), moonshine_voice.ModelArch.TINY)
    transcript = transcriber.transcribe_without_streaming(samples.tolist(), RATE)
    return " ".join(line.text for line in transcript.lines)


async def idle(address: str, service: psutil.Process) -> dict[str, object]:
    """CPU of all the service's processes while twenty conversations say nothing, as a share of one core."""

    async def hold(chunks: Callable[[], AsyncIterator[vivavoce.Utterable]], seconds: float) -> float:
        async def one() -> None:
            async with vivavoce.connect(address, response_timeout_seconds=600) as client:
                async for _ in client.converse(chunks(), audio=PCM):
                    pass

        tasks = [asyncio.create_task(one()) for _ in range(20)]
        await asyncio.sleep(5)
        before, began = _cpu_seconds(service), time.monotonic()
        await asyncio.sleep(seconds)
        share = (_cpu_seconds(service) - before) / (time.monotonic() - began)
        over = sum(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        if over:
            why = next((str(end) for end in ends if isinstance(end, Exception)), "the service ended them")
            raise RuntimeError(f"{over} of {len(tasks)} conversations were not held to the end: {why}")
        return round(100 * share, 2)

    async def nothing() -> AsyncIterator[vivavoce.Utterable]:
        await asyncio.sleep(600)
        yield b""

    def noise_of(deviation: float) -> Callable[[], AsyncIterator[vivavoce.Utterable]]:
        noise = np.random.default_rng(1).normal(0, deviation, CHUNK).astype("<i2").tobytes()

        async def chunks() -> AsyncIterator[vivavoce.Utterable]:
            while True:
                yield noise

        return lambda: _paced(chunks())

    return {
        # 16-bit noise at -64 and at -50 dB of full scale: a muted microphone, and a quiet room.
        "silent_20_percent_of_a_core": await hold(noise_of(20), 30),
        "quiet_room_20_percent_of_a_core": await hold(noise_of(100), 30),
        "nothing_20_percent_of_a_core": await hold(nothing, 30),
    }


async def memory(address: str, service: psutil.Process) -> dict[str, object]:
    """Memory of every process after 50 and after 200 utterances, sent as fast as they are taken."""
    chosen = utterances()

    async def say(count: int, offset: int) -> None:
        async with vivavoce.connect(address) as client:
            for number in range(count):
                utterance = chosen[(offset + number) % len(chosen)]
                recording = vivavoce.read_audio(utterance.path)
                events = client.converse(
                    recording.chunks(), audio=recording.format, interim_results=True, documents=utterance.documents()
                )
                async for _ in events:
                    pass

    await say(50, 0)
    after_50 = _memory(service)
    await say(150, 50)
    after_200 = _memory(service)
    return {
        name: {"after_50_mib": first, "after_200_mib": after_200[name], "growth": round(after_200[name] / first - 1, 4)}
        for name, first in after_50.items()
    }


def _memory(service: psutil.Process) -> dict[str, float]:
    """Resident set size of each process in MiB."""
    return {_name(process): round(process.memory_info().rss / 2**20, 1) for process in _family(service)}


def _name(process: psutil.Process) -> str:
    model = re.search(r"/(\w+)/\d+/model\.py", " ".join(process.cmdline()))
    return f"triton model {model[1]}" if model else "triton" if "triton" in process.name() else "service"


def _cpu_seconds(service: psutil.Process) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in _family(service))


def _family(service: psutil.Process) -> list[psutil.Process]:
    return [service, *service.children(recursive=True)]


MEASUREMENTS: dict[str, Callable[[str, psutil.Process], Coroutine[None, None, dict[str, object]]]] = {
    "latency": latency,
    "accuracy": accuracy,
    "idle": idle,
    "memory": memory,
}


def main() -> None:
    """Runs the measurements that the command line names."""
    names = sys.argv[1:] or list(MEASUREMENTS)
    with (
        tempfile.TemporaryDirectory() as directory,
        listening([*SERVE, *UNGUARDED], Path(directory) / "log.txt") as (process, address),
    ):
        service = psutil.Process(process.pid)
        found = {name: asyncio.run(MEASUREMENTS[name](address, service)) for name in names}
    command = " ".join(["python -m benchmarks.conversation", *names])
    print(keep(RESULTS / f"conversation-{'-'.join(names)}.json", command, found))


if __name__ == "__main__":
    main()
