"""Second opinions in conversations: ``python -m benchmarks.recognition.second_opinion --engine NAME=DIR``.

The service hears the recordings of :mod:`benchmarks.recognition.choice` at the pace of speech: with its own
recognizer, with the named one in its place, and with the named one as second opinion, with the usual budget and with a
longer one. All ways take turns, recording by recording, so that each finds the machine the same.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import tempfile
from collections import defaultdict
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import vivavoce
from benchmarks.provenance import RESULTS, keep
from benchmarks.recognition import material
from benchmarks.recognition.choice import engine_folder
from benchmarks.recognition.conditions import CONDITIONS
from benchmarks.recognition.report import accuracy
from benchmarks.sla.material import RATE_HZ
from benchmarks.sla.report import percentiles
from pipelines.vad.voice_activity import SileroModel
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.recognition.material import Recording

CHUNK = RATE_HZ // 20
PAUSE_SECONDS = 2.0
"""Silence after each utterance: longer than any pause in one."""
LONG_BUDGET_SECONDS = 2.0


@dataclass
class Heard:
    """What came of the recordings in one way of holding conversations.

    Attributes:
        texts: by recording.
        turn_seconds: turn latency of each reply.
    """

    texts: list[str] = field(default_factory=list)
    turn_seconds: list[float] = field(default_factory=list)


def ways(name: str) -> dict[str, dict[str, Any]]:
    """Return the options of each way, where ``name`` is the other recognizer."""
    second = {"second_opinion": name}
    return {
        "shipped": {},
        "alone": {"variants": {"asr": name}},
        "second": second,
        "second, long budget": {**second, "reply_budget_seconds": LONG_BUDGET_SECONDS},
    }


async def hold(
    address: str, recordings: Sequence[Recording], options: Mapping[str, dict[str, Any]]
) -> dict[str, Heard]:
    """Hold a conversation of each recording in each way."""
    heard: dict[str, Heard] = defaultdict(Heard)
    async with vivavoce.connect(address) as client:
        for number, recording in enumerate(recordings, 1):
            print(f"{number} of {len(recordings)}: {recording.name}", file=sys.stderr, flush=True)
            for way, chosen in options.items():
                await _speak(client, recording, chosen, heard[way])
    return heard


async def _speak(client: vivavoce.Client, recording: Recording, chosen: dict[str, Any], heard: Heard) -> None:
    pause, texts = np.zeros(round(PAUSE_SECONDS * RATE_HZ), np.float32), []
    samples = np.concatenate([part for utterance in recording.utterances for part in (utterance, pause)])
    chunks = [samples[at : at + CHUNK] for at in range(0, len(samples), CHUNK)]
    async with aclosing(client.converse(vivavoce.pace(chunks, RATE_HZ), **chosen)) as events:
        async for event in events:
            match event:
                case vivavoce.Transcript(is_final=True, text=text):
                    texts.append(text)
                case vivavoce.Reply(turn_latency_seconds=float(seconds), completes=False):
                    heard.turn_seconds.append(seconds)
    heard.texts.append(" ".join(texts))


def summary(heard: Mapping[str, Heard], recordings: Sequence[Recording]) -> dict[str, object]:
    """Return word errors and turn latency of each way."""
    return {
        way: {
            "word_errors": accuracy(recordings, found.texts)["wer_whisper"],
            "turn_ms": percentiles(found.turn_seconds),
        }
        for way, found in heard.items()
    }


def main() -> None:
    """Measure the recognizer that the command line names."""
    parser = argparse.ArgumentParser(description="Measure a recognizer as second opinion.")
    parser.add_argument("--engine", required=True, type=engine_folder, metavar="NAME=DIR")
    parser.add_argument("--condition", choices=CONDITIONS, default="clean", help="(default: clean)")
    parser.add_argument("--out", type=Path, default=RESULTS / "second-opinion.json")
    options = parser.parse_args()
    name, models = options.engine
    model, change = SileroModel(), CONDITIONS[options.condition]
    recordings = [
        material.Recording(one.name, tuple(map(change, one.utterances)), one.text)
        for one in material.readings(model) + material.demonstration(model)
    ]
    with tempfile.TemporaryDirectory() as directory:
        arguments = [*SERVE, "--variant", f"{name}={Path(models).parent}"]
        with listening(arguments, Path(directory, "log.txt")) as (_, address):
            heard = asyncio.run(hold(address, recordings, ways(name)))
    command = ["python", "-m", "benchmarks.recognition.second_opinion", f"--engine={name}=DIR"]
    command += [f"--condition={options.condition}"]
    print(keep(options.out, shlex.join(command), summary(heard, recordings)))


if __name__ == "__main__":
    main()
