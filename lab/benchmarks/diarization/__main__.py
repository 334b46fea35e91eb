"""Error rate of telling speakers apart, and its cost: conversations at the pace of speech.

``python -m benchmarks.diarization`` composes conversations, starts the service, and holds each with diarization, and
beside it without. The error rate is that of NIST (Rich Transcription): missed speech, false alarms and confused
speakers as a share of all speech. It is told without a collar, and with one of 0.25 s around each change.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil
import simpleder

import vivavoce
from benchmarks.diarization.composing import RATE_HZ, conversations
from benchmarks.provenance import RESULTS, keep
from benchmarks.sla.report import percentiles
from demo.manifest import utterances
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.diarization.composing import Composed

    Segments = list[tuple[str, float, float]]

CHUNK = RATE_HZ // 20
"""Samples of a chunk, 50 ms, as microphones have them."""
COLLAR_SECONDS = 0.25
MAX_SPEAKERS = 8
READERS = ("beckett.wav", "two_cities.wav")
"""Recordings of people in the wheel of moonshine-voice."""


@dataclass
class Held:
    """One conversation as the service held it."""

    composed: Composed
    found: Segments = field(default_factory=list)
    turn_seconds: list[float] = field(default_factory=list)


@click.command()
@click.argument("people", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--half", type=click.IntRange(0, 1), default=1, show_default=True, help="0 for tuning, 1 for judging.")
@click.option("--seed", default=7, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "diarization.json", show_default=True)
def main(people: Path, half: int, seed: int, out: Path) -> None:
    """Compose conversations of the recordings in PEOPLE, each by somebody else, and of shipped ones."""
    composed = conversations(sorted(people.glob("*.flac")), _known_voices(), seed, half)
    with (
        tempfile.TemporaryDirectory() as directory,
        listening([*SERVE, "--diarization"], Path(directory, "log.txt")) as (process, address),
    ):
        model = _process_of_model(process.pid)
        before = model.cpu_times()
        pairs = asyncio.run(_held(address, composed))
        after = model.cpu_times()
    held, plain = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    spoken = sum(len(one.samples) for one in composed) / RATE_HZ
    found = {
        "error_rates": error_rates(held),
        "conversations": {one.composed.name: _rates([one]) for one in held},
        "cores_a_stream": round((after.user + after.system - before.user - before.system) / spoken, 4),
        "turn_ms": {
            "without": percentiles(one for conversation in plain for one in conversation.turn_seconds),
            "with": percentiles(one for conversation in held for one in conversation.turn_seconds),
        },
    }
    command = f"python -m benchmarks.diarization {people.name} --half {half} --seed {seed}"
    print(keep(out, command, found))


def error_rates(held: Sequence[Held]) -> dict[str, object]:
    """Return the error rates by the number of voices, and of all."""
    by_voices = {str(count): [one for one in held if one.composed.voices == count] for count in (2, 3, 4)}
    return {voices: _rates(some) for voices, some in {**by_voices, "all": list(held)}.items() if some}


def _rates(held: Sequence[Held]) -> dict[str, float]:
    references = [[(f"{one.voice}", one.start, one.end) for one in it.composed.spoken] for it in held]
    found = [it.found for it in held]
    strict = simpleder.corpus_der(references, found, detailed=True)
    forgiving = simpleder.corpus_der(references, found, collar=COLLAR_SECONDS)
    parts = {name: strict[name] / strict["ref_length"] for name in ("miss", "false_alarm", "confusion")}
    rates = {"der": strict["der"], **parts, "der_with_collar": forgiving}
    return {name: round(float(rate), 4) for name, rate in rates.items()}


def _known_voices() -> Mapping[str, list[Path]]:
    voices: dict[str, list[Path]] = {}
    for utterance in utterances():
        voices.setdefault(utterance.voice, []).append(utterance.path)
    spec = find_spec("moonshine_voice")
    assert spec is not None
    assert spec.origin is not None
    readers = {name: [Path(spec.origin).parent / "assets" / name] for name in READERS}
    return voices | readers


def _process_of_model(service: int) -> psutil.Process:
    """Return the process of Triton that the model of speakers runs in."""
    processes = psutil.Process(service).children(recursive=True)
    return next(one for one in processes if any("/speaker/" in part for part in one.cmdline()))


async def _held(address: str, composed: Sequence[Composed]) -> list[tuple[Held, Held]]:
    """Hold each conversation with diarization, and beside it without: both find the machine the same."""
    asked = vivavoce.Diarization(MAX_SPEAKERS)
    async with vivavoce.connect(address) as client:
        return [
            (found[0], found[1])
            for found in [
                await asyncio.gather(_until_let_in(client, one, asked), _until_let_in(client, one, None))
                for one in composed
            ]
        ]


async def _until_let_in(client: vivavoce.Client, one: Composed, diarization: vivavoce.Diarization | None) -> Held:
    """Hold a conversation, again where the machine is busy with something else."""
    while True:
        try:
            return await _hold(client, one, diarization)
        except vivavoce.Overloaded as error:
            await asyncio.sleep(error.retry_after_seconds or 1.0)


async def _hold(client: vivavoce.Client, composed: Composed, diarization: vivavoce.Diarization | None) -> Held:
    held = Held(composed)
    chunks = [composed.samples[at : at + CHUNK] for at in range(0, len(composed.samples), CHUNK)]
    async for event in client.converse(vivavoce.pace(chunks, RATE_HZ), diarization=diarization):
        match event:
            case vivavoce.Transcript(is_final=True, speakers=spans):
                held.found += [(str(one.speaker.tag), one.start_seconds, one.end_seconds) for one in spans]
            case vivavoce.Reply(turn_latency_seconds=float(seconds), completes=False):
                held.turn_seconds.append(seconds)
    return held


if __name__ == "__main__":
    main()
