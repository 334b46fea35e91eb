"""Calls over AudioSocket and WebRTC, judged at the wire: `python -m benchmarks.calls [OPTIONS]`.

Each call asks the museum guide the demonstration's questions, 20 ms at a time. What counts is the time from the last
sound of a question to the first sound of the answer. Over AudioSocket they come at 8 kHz, as Asterisk sends them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import soxr

from benchmarks.calls.audiosocket import RATE_HZ as TELEPHONE_HZ
from benchmarks.calls.audiosocket import AudioSocketCaller
from benchmarks.calls.caller import QUIET
from benchmarks.calls.webrtc import RATE_HZ as WEBRTC_HZ
from benchmarks.calls.webrtc import WebRtcCaller
from benchmarks.provenance import RESULTS, keep
from benchmarks.sla.material import DEMONSTRATION, read_items, samples
from service.processes.child_process import http_url_of, listening

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from benchmarks.calls.caller import Caller

AGENT = Path(__file__).parents[3] / "demo" / "agents" / "museum_guide"
SILENCE_SECONDS = 6.0
AUDIOSOCKET, WEBRTC = "audiosocket", "webrtc"


@dataclasses.dataclass
class Told:
    """Measures of one call, in seconds."""

    voice_to_voice: list[float] = dataclasses.field(default_factory=list)
    unanswered: int = 0


@dataclasses.dataclass(frozen=True)
class Service:
    """Where a service is called.

    Attributes:
        port: of AudioSocket.
        url: of HTTP.
    """

    port: int
    url: str

    async def call(self, door: str, loss: float, jitter: float, seed: int) -> Caller:
        """Call it."""
        if door == AUDIOSOCKET:
            return await AudioSocketCaller.calling(self.port, loss, jitter, seed)
        return await WebRtcCaller.calling(self.url, AGENT.name, loss, jitter, seed)


def questions(rate_hz: int) -> list[npt.NDArray[np.int16]]:
    """Return questions about the museum, int16, without the silence at their ends."""
    found = []
    for item in (item for item in read_items(DEMONSTRATION) if item.path.stem.startswith("museum")):
        sound = soxr.resample(samples(item.path).astype(np.float32), 16_000, rate_hz).astype("<i2")
        loud = np.flatnonzero(np.abs(sound) > QUIET)
        found.append(sound[: loud[-1] + 1])
    return found


async def hold(caller: Caller, said: Sequence[npt.NDArray[np.int16]]) -> Told:
    """Hold one call in which each recording is said, once the answer to the last is over."""
    told = Told()
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


async def measure(
    service: Service, door: str, calls: int, loss: float, jitter: float, rounds: int
) -> dict[str, object]:
    """Hold so many calls at a time."""
    said = questions(TELEPHONE_HZ if door == AUDIOSOCKET else WEBRTC_HZ) * rounds

    async def one(seed: int) -> Told:
        return await hold(await service.call(door, loss, jitter, seed), said)

    told = await asyncio.gather(*map(one, range(calls)))
    seconds = np.array([one for each in told for one in each.voice_to_voice])
    return {
        "door": door,
        "calls": calls,
        "loss": loss,
        "jitter_ms": round(1000 * jitter),
        "answered": len(seconds),
        "unanswered": sum(each.unanswered for each in told),
        "voice_to_voice_ms": {f"p{p}": round(1000 * float(np.percentile(seconds, p))) for p in (50, 90, 95)},
    }


@click.command()
@click.option("--door", type=click.Choice((AUDIOSOCKET, WEBRTC)), multiple=True, default=(AUDIOSOCKET, WEBRTC))
@click.option("--calls", type=click.IntRange(1), multiple=True, default=(1,), show_default=True, help="At a time.")
@click.option("--loss", type=click.FloatRange(0, 1), default=0.03, show_default=True, help="Share of lost packets.")
@click.option("--jitter-ms", type=click.IntRange(0), default=40, show_default=True, help="Most lateness of a packet.")
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="How often each question is asked."
)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "calls.json", show_default=True)
def main(door: Sequence[str], calls: Sequence[int], loss: float, jitter_ms: int, rounds: int, out: Path) -> None:
    """Call a service, and keep how long its answers took, over a good network and a bad one.

    AudioSocket has no packets, so that its network is good.
    """
    command = ["-m", "vivavoce", "serve", "--port", "0", "--no-admin", "--http-port", "0", "--webrtc"]
    command += ["--audiosocket-port", "0", "--agent", str(AGENT), "--call-agent", AGENT.name]
    with tempfile.TemporaryDirectory() as folder, listening(command, Path(folder, "log")) as (process, _):
        url = http_url_of(process)
        assert process.stdout is not None
        service = Service(int(process.stdout.readline().split()[-1]), url)
        rows = [
            asyncio.run(measure(service, one, count, *network, rounds))
            for one in door
            for count in calls
            for network in ((0.0, 0.0), (loss, jitter_ms / 1000))
            if one == WEBRTC or network == (0.0, 0.0)
        ]
    options = " ".join([*(f"--door {one}" for one in door), *(f"--calls {count}" for count in calls)])
    options += f" --loss {loss:g} --jitter-ms {jitter_ms} --rounds {rounds}"
    click.echo(keep(out, f"python -m benchmarks.calls {options}", {"rows": rows}))


if __name__ == "__main__":
    main()
