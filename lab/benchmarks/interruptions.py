"""What stops a spoken reply, and how soon: backchannels and interruptions said over it at the pace of speech.

``python -m benchmarks.interruptions`` starts the service, has it speak a reply again and again, and says something over
each. The backchannels are spoken by the service's own voice at several speeds and pitches; the interruptions are the
recordings of the demonstration, and short ones in that voice.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import psutil
import soundfile
import soxr

import vivavoce
from benchmarks.provenance import RESULTS, keep
from benchmarks.sla.report import percentiles
from demo.manifest import utterances
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from numpy.typing import NDArray

RATE_HZ = 16_000
CHUNK = RATE_HZ // 20
"""Samples of a chunk, 50 ms, as the microphone has them."""
AT_ONCE = 2
NOISE_RMS = 0.0005
LOUD = 0.02
"""Amplitude at which speech begins, of a clip whose peak is 0.5."""

HUMS = ("Mhm.", "Hmm.")
"""Backchannels without words, which are hummed: as text the voice would read them letter by letter."""
BACKCHANNELS = (*HUMS, "All right.", "Yeah.", "Okay.", "Right.", "Yes.", "Yeah, okay.", "I see.", "Sure.")
SHORT = (
    "Stop.", "Wait.", "No.", "Hold on.", "Stop it.", "That's enough.", "Wait a minute.", "No, not that.", "Be quiet.",
    "Excuse me.", "And on Monday?", "Never mind.", "Thank you.",
)  # fmt: skip
MANNERS = ((1.0, 1.0), (1.25, 1.0), (0.85, 0.85), (1.0, 0.8), (1.1, 1.15))
"""Speeds of the voice, and pitches."""

_NASAL = ((250.0, 60.0, 1.0), (1_000.0, 120.0, 0.1), (2_200.0, 200.0, 0.05))
"""Resonances of a nose: frequency, width and strength."""

QUESTION = "What did the two men do on the Moon?"
DOCUMENT = (
    "After their landing the two men on the Moon planted a flag, set up scientific instruments, took many photographs "
    "and collected 21.5 kilograms of rock and soil."
)


@dataclass(frozen=True)
class Clip:
    """Something that is said over a reply."""

    text: str
    samples: NDArray[np.float32] = field(repr=False)

    @property
    def onset(self) -> int:
        """First loud sample."""
        return int(np.flatnonzero(np.abs(self.samples) > LOUD)[0])


@dataclass
class Trial:
    """What became of one reply."""

    text: str
    said_at: float = 0.0
    last_audio_at: float = 0.0
    interrupted_at: float | None = None
    transcript: str = ""
    has_ended: bool = False


@click.command()
@click.option("--count", type=click.IntRange(4), default=50, show_default=True, help="How many of each kind.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "interruptions.json", show_default=True)
def main(count: int, out: Path) -> None:
    """Interrupt spoken replies; keep what was found."""
    with (
        tempfile.TemporaryDirectory() as directory,
        listening([*SERVE], Path(directory, "log.txt")) as (process, address),
    ):
        backchannels, interruptions = asyncio.run(_measure(address, count))
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        memory = round(sum(one.memory_full_info().pss for one in family) / (1 << 20))
    found = summary(backchannels, interruptions) | {"service_mib": memory}
    print(keep(out, f"python -m benchmarks.interruptions --count {count}", found))


def summary(backchannels: Sequence[Trial], interruptions: Sequence[Trial]) -> dict[str, object]:
    """Returns how many of each kind interrupted, and how soon.

    Args:
        backchannels: replies over which a backchannel was said.
        interruptions: replies that were to be interrupted.
    """
    stopped = [trial for trial in interruptions if trial.interrupted_at is not None]
    return {
        "backchannels": len(backchannels),
        "backchannels_that_interrupted": [
            f"{one.text} ({one.transcript})" for one in backchannels if one.interrupted_at is not None
        ],
        "interruptions": len(interruptions),
        "interruptions_that_did_not": [
            f"{one.text} ({one.transcript})" for one in interruptions if one.interrupted_at is None
        ],
        "onset_to_last_audio_ms": percentiles(max(0.0, one.last_audio_at - one.said_at) for one in stopped),
        "onset_to_interrupted_ms": percentiles(
            one.interrupted_at - one.said_at for one in stopped if one.interrupted_at is not None
        ),
    }


async def _measure(address: str, count: int) -> tuple[list[Trial], list[Trial]]:
    async with vivavoce.connect(address) as client:
        backchannels = await _spoken(client, BACKCHANNELS, count)
        recordings = [_read(utterance.path, utterance.text) for utterance in utterances()]
        recordings = recordings[: count // 2]
        interruptions = [*recordings, *await _spoken(client, SHORT, count - len(recordings))]
        gate = asyncio.Semaphore(AT_ONCE)
        found = await asyncio.gather(
            *(
                _try_until_let_in(client, gate, clip, number)
                for number, clip in enumerate([*backchannels, *interruptions])
            )
        )
    return found[: len(backchannels)], found[len(backchannels) :]


async def _spoken(client: vivavoce.Client, texts: Sequence[str], count: int) -> list[Clip]:
    """Has texts spoken in several manners."""
    clips = []
    for (speed, pitch), text in itertools.islice(itertools.product(MANNERS, texts), count):
        if text in HUMS:
            clips.append(Clip(text, hum(2 if text == HUMS[0] else 1, speed, pitch)))
            continue
        audio = vivavoce.AudioFormat(sample_rate_hz=RATE_HZ)
        pieces = [chunk.audio async for chunk in client.say(text, audio=audio, speed=speed)]
        samples = np.frombuffer(b"".join(pieces), "<i2").astype(np.float32)
        # Played faster or slower, a voice is another one.
        shifted = soxr.resample(samples, RATE_HZ * pitch, RATE_HZ)
        clips.append(Clip(text, shifted * (0.5 / np.abs(shifted).max())))
    return clips


def hum(parts: int, speed: float, pitch: float) -> NDArray[np.float32]:
    """Returns a hum with the mouth closed: pulses of a voice through the resonances of the nose.

    Args:
        parts: 2 for "mhm", whose second part is higher, 1 for "hmm".
        speed: how fast.
        pitch: how high, 1 for a woman.
    """
    seconds = 0.22 if parts == 2 else 0.4
    pieces = []
    for part in range(parts):
        count = round(seconds * RATE_HZ / speed)
        base = 190 * pitch * (1.0 if part == 0 else 1.2)
        frequency = base * np.linspace(1.05, 0.92, count)
        phase = np.cumsum(frequency) / RATE_HZ
        tone = np.zeros(count)
        for harmonic in range(1, int(3_500 / base)):
            at = harmonic * frequency
            gain = sum(weight / (1 + ((at - center) / width) ** 2) for center, width, weight in _NASAL)
            tone += gain / harmonic**0.5 * np.sin(2 * np.pi * harmonic * phase)
        rise = np.minimum(1.0, np.minimum(np.arange(count), np.arange(count)[::-1]) / (0.04 * RATE_HZ))
        pieces.append(tone * rise)
        if part + 1 < parts:
            breath = np.random.default_rng(1).normal(0.0, 0.03 * np.abs(tone).max(), round(0.06 * RATE_HZ))
            pieces.append(breath)
    samples = np.concatenate(pieces)
    return np.asarray(samples * (0.5 / np.abs(samples).max()), np.float32)


def _read(path: Path, text: str) -> Clip:
    samples, _ = soundfile.read(path, dtype="float32")
    return Clip(text, samples * (0.5 / np.abs(samples).max()))


async def _try_until_let_in(client: vivavoce.Client, gate: asyncio.Semaphore, clip: Clip, number: int) -> Trial:
    """Tries a clip, again where the machine is busy with something else."""
    async with gate:
        while True:
            try:
                return await _try(client, clip, number)
            except vivavoce.Overloaded as error:
                await asyncio.sleep(error.retry_after_seconds or 1.0)


async def _try(client: vivavoce.Client, clip: Clip, number: int) -> Trial:
    """Says a clip over a reply, between 1 and 2 s after its first audio."""
    trial, begun = Trial(clip.text), asyncio.Event()
    wait = 1.0 + number % 10 / 10

    async def said() -> AsyncIterator[vivavoce.Utterable]:
        noise = np.random.default_rng(number)
        loop = asyncio.get_running_loop()
        yield vivavoce.TypedTurn(QUESTION)
        started, sent, rest = loop.time(), 0, clip.samples
        while not trial.has_ended:
            chunk = np.asarray(noise.normal(0.0, NOISE_RMS, CHUNK), np.float32)
            if begun.is_set() and loop.time() - began_at[0] >= wait:
                if rest is clip.samples:
                    # The moment in which its first sound would have been recorded.
                    trial.said_at = time.monotonic() + clip.onset / RATE_HZ
                chunk[: len(rest[:CHUNK])] += rest[:CHUNK]
                rest = rest[CHUNK:]
            sent += CHUNK
            await asyncio.sleep(max(0.0, started + sent / RATE_HZ - loop.time()))
            yield chunk

    began_at = [0.0]
    conversation = client.converse(
        said(), documents=[DOCUMENT], reply_audio=vivavoce.ReplyVoice(), reply_budget_seconds=1.0
    )
    async with conversation:
        async for event in conversation:
            now = time.monotonic()
            match event:
                case vivavoce.ReplyAudio(turn=1, is_last=is_last):
                    if not begun.is_set():
                        began_at[0] = asyncio.get_running_loop().time()
                        begun.set()
                    trial.last_audio_at = now
                    if is_last and trial.transcript:
                        trial.has_ended = True
                case vivavoce.Interrupted(turn=1):
                    trial.interrupted_at = now
                case vivavoce.Transcript(is_final=True):
                    trial.transcript = event.text
                case vivavoce.Reply(turn=turn) if turn > 1:
                    break
    return trial


if __name__ == "__main__":
    main()
