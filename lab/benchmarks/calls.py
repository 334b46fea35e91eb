"""Telephone calls over AudioSocket, judged at the wire: `python -m benchmarks.calls [OPTIONS]`.

Each call asks the museum guide the demonstration's questions at 8 kHz, 20 ms at a time, as Asterisk sends them. What
counts is the time from the last sound of a question to the first sound of the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import soxr

from benchmarks.provenance import RESULTS, keep
from benchmarks.sla.material import DEMONSTRATION, read_items, samples
from service.processes.child_process import listening

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

RATE_HZ, FRAME_SAMPLES, FRAME_SECONDS = 8_000, 160, 0.02
AUDIO, NAME = 0x10, 0x01
AGENT = Path(__file__).parents[2] / "demo" / "agents" / "museum_guide"
SILENCE_SECONDS = 6.0
ROUNDS = 3
"""How often a call asks each question."""
QUIET = 300
"""Samples of 16 bits below which audio is silence."""


@dataclasses.dataclass
class Told:
    """Measures of one call, in seconds."""

    voice_to_voice: list[float] = dataclasses.field(default_factory=list)
    unanswered: int = 0


def questions() -> list[npt.NDArray[np.int16]]:
    """Returns questions about the museum at 8 kHz, int16, without the silence at their ends."""
    found = []
    for item in (item for item in read_items(DEMONSTRATION) if item.path.stem.startswith("museum")):
        narrow = soxr.resample(samples(item.path).astype(np.float32), 16_000, RATE_HZ).astype("<i2")
        loud = np.flatnonzero(np.abs(narrow) > QUIET)
        found.append(narrow[: loud[-1] + 1])
    return found


class Caller:
    """One call: speaks, and notes when speech comes."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, loss: float, chance: random.Random
    ) -> None:
        self._reader, self._writer, self._loss, self._chance = reader, writer, loss, chance
        self._loop = asyncio.get_running_loop()
        self.heard_at = 0.0
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                header = await self._reader.readexactly(3)
                payload = await self._reader.readexactly(int.from_bytes(header[1:], "big"))
                if header[0] == AUDIO and np.abs(np.frombuffer(payload, "<i2")).max(initial=0) > QUIET:
                    self.heard_at = self._loop.time()

    def _send(self, kind: int, payload: bytes) -> None:
        self._writer.write(bytes((kind,)) + len(payload).to_bytes(2, "big") + payload)

    def begin(self) -> None:
        """Names the call."""
        self._send(NAME, uuid.uuid4().bytes)

    async def say(self, sound: npt.NDArray[np.int16]) -> float:
        """Says something at the pace of speech; returns when its last sound was sent. A lost frame comes as silence."""
        due = self._loop.time()
        for start in range(0, len(sound), FRAME_SAMPLES):
            frame = np.zeros(FRAME_SAMPLES, "<i2")
            piece = sound[start : start + FRAME_SAMPLES]
            if self._chance.random() >= self._loss:
                frame[: len(piece)] = piece
            self._send(AUDIO, frame.tobytes())
            due += FRAME_SECONDS
            await asyncio.sleep(due - self._loop.time())
        return self._loop.time()

    async def hush(self, seconds: float, until_heard_since: float | None = None) -> None:
        """Is silent, at most until an answer has begun."""
        silence = np.zeros(FRAME_SAMPLES, "<i2")
        for _ in range(round(seconds / FRAME_SECONDS)):
            await self.say(silence)
            if until_heard_since is not None and self.heard_at > until_heard_since:
                return

    async def until_quiet(self) -> None:
        """Waits until nothing was heard for a second."""
        await self.hush(1.0)
        while self._loop.time() < self.heard_at + 1.0:
            await self.hush(0.2)

    async def close(self) -> None:
        """Hangs up."""
        self._writer.close()
        await self._listening


async def call(port: int, said: Sequence[npt.NDArray[np.int16]], loss: float, seed: int) -> Told:
    """Holds one call in which each recording is said, once the answer to the last is over."""
    chance, told = random.Random(seed), Told()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    caller = Caller(reader, writer, loss, chance)
    caller.begin()
    await caller.hush(2.0, 0.0)
    for sound in said:
        await caller.until_quiet()
        ended = await caller.say(sound)
        await caller.hush(SILENCE_SECONDS, ended)
        if caller.heard_at > ended:
            told.voice_to_voice.append(caller.heard_at - ended)
        else:
            told.unanswered += 1
    await caller.close()
    return told


async def measure(port: int, calls: int, loss: float) -> dict[str, object]:
    """Holds so many calls at a time."""
    said = questions() * ROUNDS
    told = await asyncio.gather(*(call(port, said, loss, number) for number in range(calls)))
    seconds = np.array([one for each in told for one in each.voice_to_voice])
    return {
        "calls": calls,
        "loss": loss,
        "answered": len(seconds),
        "unanswered": sum(each.unanswered for each in told),
        "voice_to_voice_ms": {f"p{p}": round(1000 * float(np.percentile(seconds, p))) for p in (50, 90, 95)},
    }


@click.command()
@click.option("--calls", type=click.IntRange(1), multiple=True, default=(1,), show_default=True, help="At a time.")
@click.option(
    "--loss", type=click.FloatRange(0, 1), multiple=True, default=(0.0,), help="Share of frames that are lost."
)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "calls.json", show_default=True)
def main(calls: Sequence[int], loss: Sequence[float], out: Path) -> None:
    """Call a service, and keep how long its answers took."""
    command = ["-m", "vivavoce", "serve", "--port", "0", "--no-admin", "--audiosocket-port", "0"]
    command += ["--agent", str(AGENT), "--call-agent", AGENT.name]
    with tempfile.TemporaryDirectory() as folder, listening(command, Path(folder, "log")) as (process, _):
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[-1])
        rows = [asyncio.run(measure(port, count, share)) for count in calls for share in loss]
    options = " ".join([*(f"--calls {count}" for count in calls), *(f"--loss {share:g}" for share in loss)])
    click.echo(keep(out, f"python -m benchmarks.calls {options}", {"rows": rows}))


if __name__ == "__main__":
    main()
