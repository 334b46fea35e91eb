"""Compares recognizers that the service can serve: ``python -m benchmarks.recognition.choice [--engine NAME=DIR]``.

Moonshine, which is shipped, and every engine directory that is named hear the same recordings, each alone on one core:
word errors in all of :data:`benchmarks.recognition.conditions.CONDITIONS`, errors in digits, how soon the first right
word comes, how long a core computes the text at the end, cores of a live stream, and memory. ``docs/recognizers.md``
shows what was found.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.provenance import keep
from benchmarks.recognition import material
from benchmarks.recognition.conditions import CONDITIONS
from benchmarks.recognition.contenders import Contender
from benchmarks.recognition.report import accuracy, digit_errors
from benchmarks.recognition.worker import Worker
from benchmarks.sla.material import RATE_HZ
from engines.build.moonshine import TARGET
from pipelines.vad.voice_activity import SileroModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.recognition.material import Recording

    Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
DIGIT_STRINGS = 20
LIVE = 12
"""Recordings that are also heard live, at the pace at which texts are worked out."""


def main() -> int:
    """Compares the recognizers that the command line names; returns the exit status."""
    options = _parse()
    model = SileroModel()
    recordings = material.readings(model) + material.demonstration(model)
    data = Path(os.environ.get("VIVAVOCE_DATA", ROOT.parent / "shared" / "data")) / "commands"
    commands = material.commands(data, options.commands, model) if (data / "labels.json").is_file() else []
    digits = material.digit_strings(DIGIT_STRINGS, model)
    found = [
        {"recognizer": name, **_measure(name, Path(folder), recordings, commands, digits)}
        for name, folder in {"moonshine": str(TARGET.parents[2]), **dict(options.engine)}.items()
    ]
    result = {"seconds": round(material.seconds(recordings), 1), "recordings": len(recordings), "results": found}
    print(json.dumps(found, indent=1))
    if options.json is not None:
        keep(options.json, shlex.join(["python", "-m", "benchmarks.recognition.choice", *_named(options)]), result)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare recognizers that the service can serve.")
    parser.add_argument("--engine", action="append", default=[], type=engine_folder, metavar="NAME=DIR")
    parser.add_argument("--commands", type=int, default=20, help="how many of the commands, if there (default: 20)")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    return parser.parse_args()


def engine_folder(text: str) -> tuple[str, str]:
    """Read ``NAME=DIR``; return the name, and the folder of the engine's Triton models."""
    name, _, folder = text.partition("=")
    if not (Path(folder) / "triton" / "asr" / "config.pbtxt").is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=DIR with an engine directory for recognition")
    return name, str(Path(folder) / "triton")


def _named(options: argparse.Namespace) -> list[str]:
    return [f"--engine={name}=DIR" for name, _ in options.engine] + [f"--commands={options.commands}"]


def _measure(
    name: str,
    models: Path,
    recordings: Sequence[Recording],
    commands: Sequence[Recording],
    digits: Sequence[Recording],
) -> Json:
    """Measures one recognizer, whose Triton model lies in ``models``."""
    contender = Contender(name, "1 core", "benchmarks.recognition.systems:LiveEngine", {"models": str(models)})
    worker = Worker(contender, 1)
    try:
        worker.transcribe([recordings[0].utterances[0]])
        errors, cost = {}, (0.0, 0.0)
        for condition, change in CONDITIONS.items():
            print(f"{name}: {condition}", file=sys.stderr, flush=True)
            heard = [replace(one, utterances=tuple(map(change, one.utterances))) for one in recordings]
            texts, cost_here = _hear(worker, heard)
            errors[condition] = accuracy(recordings, texts)["wer_whisper"]
            cost = cost_here if condition == "clean" else cost
        live = hear_live(worker, recordings)
        values = accuracy(commands, _hear(worker, commands)[0])["values_heard"] if commands else None
        return {
            "word_errors": errors,
            "command_values_heard": values,
            "digit_errors": digit_errors(digits, _hear(worker, digits)[0]),
            "cpu_seconds_per_second_offline": round(cost[0] / cost[1], 3),
            **live,
            "memory_mib": round(worker.memory_bytes / 2**20),
        }
    finally:
        worker.close()


def _hear(worker: Worker, recordings: Sequence[Recording]) -> tuple[list[str], tuple[float, float]]:
    """Returns the final text of each recording; and the seconds computed, and heard."""
    texts, computed = [], 0.0
    for recording in recordings:
        answer = worker.transcribe(list(recording.utterances))
        computed += answer.cpu_seconds
        texts.append(" ".join(answer.texts))
    return texts, (computed, material.seconds(recordings))


def hear_live(worker: Worker, recordings: Sequence[Recording]) -> Json:
    """Hears recordings piece by piece, as people speak."""
    firsts, lasts, computed, heard = [], [], 0.0, 0.0
    chosen = [one for one in recordings if one.text and len(one.utterances[0]) < 12 * RATE_HZ][:LIVE]
    for recording in chosen:
        answer = worker.listen(recording.utterances[0])
        computed += answer.cpu_seconds
        heard += len(recording.utterances[0]) / RATE_HZ
        told = json.loads(answer.texts[0])
        lasts.append(told["last_cpu_seconds"])
        word = _letters(str(recording.text))[:1]
        right = [seconds for seconds, text in told["texts"] if _letters(text)[:1] == word]
        if right:
            firsts.append(right[0])
    return {
        "first_right_word_seconds": round(statistics.median(firsts), 2) if firsts else None,
        "first_words_right": f"{len(firsts)} of {len(chosen)}",
        "text_at_the_end_cpu_ms": round(1000 * statistics.median(lasts)),
        "cores_of_a_live_stream": round(computed / heard, 3),
    }


def _letters(text: str) -> list[str]:
    return "".join(one for one in text.lower() if one.isalnum() or one == " ").split()


if __name__ == "__main__":
    sys.exit(main())
