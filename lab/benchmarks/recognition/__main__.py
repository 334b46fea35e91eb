"""Measures recognition alone: ``python -m benchmarks.recognition [--json FILE]``.

Finals only, every contender on the same recordings, in turn. A quarter of an hour with everything installed
(``pip install ./clients . './lab[bench,eval,bench-peers]'``); what is missing is named and left out. Exits with 1
when ours is slower beside moonshine-voice's runtime than ``report.GOALS``.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from benchmarks.provenance import keep
from benchmarks.recognition import material
from benchmarks.recognition.contenders import contenders
from benchmarks.recognition.peers import installed, packaged_whisper
from benchmarks.recognition.race import race
from benchmarks.recognition.report import against_moonshine, rows, table
from pipelines.vad.voice_activity import SileroModel

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    """Runs the races that the command line asks for; returns the exit status."""
    options = _parse()
    recordings = _recordings(options)
    whisper = options.faster_whisper or packaged_whisper()
    if whisper is None or not installed("faster_whisper"):
        whisper = None
        _say(
            "faster-whisper is left out: run `pip install '.[bench-peers]'` in the checkout, or name its weights: "
            "--faster-whisper DIR"
        )
    sphinx = installed("pocketsphinx")
    if not sphinx:
        _say("pocketsphinx is left out; run `pip install '.[bench-peers]'` in the checkout")
    found: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    load = os.getloadavg()[0]
    for cores in options.cores or (1, 2):
        chosen = contenders(cores, str(whisper) if whisper else None, sphinx=sphinx)
        entries = race(chosen, cores, recordings, options.passes, _say)
        found += rows(entries, recordings, cores)
        compared += against_moonshine(entries, recordings, cores)
    result = {
        # Processes that wanted a core in the minute before: 0 on a machine that does nothing else.
        "load_before": round(load, 2),
        "audio": _audio(recordings),
        "results": found,
        "beside_moonshine": compared,
    }
    print(table(found), *map(_sentence, compared), sep="\n")
    if options.json is not None:
        keep(options.json, _command(options), result)
    return 0 if all(ratio["reached"] for ratio in compared) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure recognition alone, ours beside others.")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    parser.add_argument("--cores", type=int, action="append", choices=(1, 2), help="default: first 1, then 2")
    parser.add_argument("--passes", type=int, default=3, help="how often everything is recognized (default: 3)")
    parser.add_argument("--commands", type=int, default=20, help="how many of the commands, if there (default: 20)")
    parser.add_argument("--faster-whisper", type=Path, metavar="DIR", help="weights of tiny.en for CTranslate2")
    options = parser.parse_args()
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser.error(f"there is no folder {options.json.absolute().parent}: make it, or write elsewhere")
    if options.passes < 1 or options.commands < 0:
        parser.error("--passes must be at least 1 and --commands at least 0")
    if options.faster_whisper is not None and not (options.faster_whisper / "model.bin").is_file():
        parser.error(f"{options.faster_whisper} holds no model.bin: name a directory of CTranslate2's")
    return options


def _command(options: argparse.Namespace) -> str:
    """Returns what to type for the same measurement again; where its result is written does not matter."""
    words = ["python", "-m", "benchmarks.recognition", f"--passes={options.passes}", f"--commands={options.commands}"]
    words += [f"--cores={cores}" for cores in options.cores or ()]
    return shlex.join(words + (["--faster-whisper=DIR"] if options.faster_whisper else []))


def _recordings(options: argparse.Namespace) -> list[material.Recording]:
    model = SileroModel()
    found = material.readings(model) + material.demonstration(model)
    data = Path(os.environ.get("VIVAVOCE_DATA", ROOT.parent / "shared" / "data"))
    folder = data / "commands"
    if (folder / "labels.json").is_file():
        found += material.commands(folder, options.commands, model)
    else:
        _say(f"no recorded commands in {folder}: they are left out; set VIVAVOCE_DATA")
    return found


def _audio(recordings: list[material.Recording]) -> dict[str, object]:
    return {
        "recordings": len(recordings),
        "utterances": sum(len(recording.utterances) for recording in recordings),
        "seconds": round(material.seconds(recordings), 1),
        "with_text": sum(recording.text is not None for recording in recordings),
        "with_values": sum(bool(recording.values) for recording in recordings),
    }


def _sentence(ratio: dict[str, Any]) -> str:
    low, high = ratio["range"]
    return (
        f"{ratio['cores']} core(s), {ratio['at_once']} at a time: {ratio['ours']} is {ratio['times_as_fast']} times "
        f"as fast ({low} to {high}) as moonshine-voice with {ratio['theirs']}; goal {ratio['goal']}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
