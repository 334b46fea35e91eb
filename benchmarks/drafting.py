"""What it saves to draft texts in 8 bits: whole texts with drafts and without, in batches of several sizes.

``python -m benchmarks.drafting`` recognizes the same utterances with both recognizers in turn, batch by batch, so that
whatever else the machine does hits both. No text was decoded before, as under a load that leaves no time for partial
ones.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import click

from benchmarks.markdown import table
from benchmarks.provenance import keep
from benchmarks.recognition.material import commands, demonstration, readings
from engines.asr.moonshine import networks as moonshine
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.utterance import Utterance
from modelkit.moonshine import TARGET
from pipelines.vad.voice_activity import SileroModel
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_BATCHES = (1, 2, 4, 8)
_COMMANDS = 40


@dataclass(slots=True)
class _Measured:
    """What one recognizer did in batches of one size, over all rounds."""

    seconds: float = 0.0
    texts: list[list[int]] = field(default_factory=list)

    @property
    def text_ms(self) -> float:
        """Milliseconds a text."""
        return 1000 * self.seconds / len(self.texts)


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--commands", "folder", type=click.Path(exists=True, file_okay=False), help="Recordings of commands too.")
@click.option("--json", "json_file", type=FileToWrite(), help="Keep what was measured here.")
def main(rounds: int, folder: str | None, json_file: Path | None) -> None:
    """Time texts with drafts in 8 bits and without, and print a Markdown table."""
    spoken = _utterances(folder)
    recognizers = {"exact": MoonshineRecognizer(TARGET, speculative=False), "drafted": _drafting()}
    rows = []
    for size in _BATCHES:
        measured = {name: _Measured() for name in recognizers}
        with mock.patch.object(moonshine, "MAX_ROWS", size):
            for _ in range(rounds):
                for first in range(0, len(spoken), size):
                    for name, recognizer in recognizers.items():
                        _recognize(recognizer, spoken[first : first + size], measured[name])
        exact, drafted = measured["exact"], measured["drafted"]
        same = sum(one == other for one, other in zip(exact.texts, drafted.texts, strict=True)) / len(exact.texts)
        rows.append({"batch": size, "exact_ms": exact.text_ms, "drafted_ms": drafted.text_ms, "same_texts": same})
    heads = ["utterances in a batch", "exact decoder alone (ms a text)", "drafted and checked", "times", "same texts"]
    cells = [
        [
            str(row["batch"]),
            f"{row['exact_ms']:.0f}",
            f"{row['drafted_ms']:.0f}",
            f"{row['exact_ms'] / row['drafted_ms']:.2f}",
            f"{row['same_texts']:.1%}",
        ]
        for row in rows
    ]
    click.echo(table(heads, cells))
    if json_file is not None:
        command = f"python -m benchmarks.drafting --rounds {rounds}" + (" --commands FOLDER" if folder else "")
        keep(json_file, command, {"utterances": len(spoken), "batches": rows})


def _utterances(folder: str | None) -> list[NDArray[np.float32]]:
    """Returns what is recognized, the shortest first, so that those of a batch are of like length."""
    voice = SileroModel()
    recordings = [*readings(voice), *demonstration(voice)]
    if folder is not None:
        recordings += commands(Path(folder), _COMMANDS, voice)
    return sorted((utterance for recording in recordings for utterance in recording.utterances), key=len)


def _drafting() -> MoonshineRecognizer:
    """Returns a recognizer that drafts, whether or not that pays on this machine."""
    with mock.patch.object(moonshine, "drafting_pays", return_value=True):
        return MoonshineRecognizer(TARGET)


def _recognize(recognizer: MoonshineRecognizer, spoken: Sequence[NDArray[np.float32]], measured: _Measured) -> None:
    utterances = [Utterance() for _ in spoken]
    for utterance, samples in zip(utterances, spoken, strict=True):
        utterance.append(samples)
    started = time.perf_counter()
    texts = recognizer.transcribe(utterances)
    measured.seconds += time.perf_counter() - started
    measured.texts += texts


if __name__ == "__main__":
    main()
