"""What the end of a turn and speech take of the cores beside a GPU: ``python -m benchmarks.gpu.cores``.

Both run on onnxruntime, a request at a time, and are not computed on a GPU: this tells how many conversations a
machine of so many cores holds before that would pay.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, TypeVar

import click

from benchmarks.gpu.spoken import load
from benchmarks.markdown import table
from benchmarks.provenance import keep
from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, read_items
from engines.tts.speaking import Part, speak
from engines.tts.voice import Voice
from engines.turn.detector import Detector, Pause
from modelkit.triton_models import MODEL_REPOSITORY, VERSION
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_T = TypeVar("_T")

_HEARD = 8 * RATE_HZ
_SENTENCES = (
    "Your alarm is set for seven in the morning.",
    "The ferry leaves at nine, and comes back in the evening.",
    "Neil Armstrong walked on the Moon on the twentieth of July.",
)
SECONDS_A_TURN = 8.0
"""From one turn of a conversation to the next: speech, reply and thought."""
PAUSES_A_TURN = 2.0


@click.command()
@click.option("--conversations", type=click.IntRange(1), default=256, show_default=True)
@click.option("--json", "json_file", type=FileToWrite(), help="Keep what was measured here.")
def main(conversations: int, json_file: Path | None) -> None:
    """Measure both on one core, and print what so many conversations take."""
    items = read_items(DEMONSTRATION)
    detector = Detector(MODEL_REPOSITORY / "end_of_turn" / VERSION, 1)
    pauses = [Pause(load(item.path)[:_HEARD], item.text) for item in items]
    voice = Voice(1)
    measured = {
        "end of a turn, a pause": (core_ms(lambda pause: detector.judge([pause]), pauses), PAUSES_A_TURN),
        "speech, a sentence": (core_ms(lambda text: list(speak(voice, (Part(text),), 0)), _SENTENCES * 4), 1.0),
    }
    rows = [
        {"what": what, "core_ms": round(ms, 1), "cores": round(cores(ms, each, conversations), 2)}
        for what, (ms, each) in measured.items()
    ]
    heads = ["", "one core", f"cores at {conversations} conversations"]
    click.echo(table(heads, [[str(row["what"]), f"{row['core_ms']} ms", str(row["cores"])] for row in rows]))
    if json_file is not None:
        keep(json_file, f"python -m benchmarks.gpu.cores --conversations {conversations}", {"rows": rows})


def cores(core_ms: float, each_turn: float, conversations: int) -> float:
    """Returns how many cores conversations keep busy with something that each of their turns asks for."""
    return conversations / SECONDS_A_TURN * each_turn * core_ms / 1000


def core_ms(work: Callable[[_T], object], inputs: Sequence[_T]) -> float:
    """Returns the median milliseconds of a core that ``work`` takes, the first call left out."""
    work(inputs[0])
    found = []
    for one in inputs:
        began = time.process_time()
        work(one)
        found.append(1000 * (time.process_time() - began))
    return statistics.median(found)


if __name__ == "__main__":
    main()
