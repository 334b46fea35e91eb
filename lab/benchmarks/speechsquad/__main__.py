"""Fills SpeechSquad's table: ``python -m benchmarks.speechsquad``.

Every load is an open loop at the pace of speech. The last row of an ending is the one that breaks the budget.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from benchmarks.provenance import keep
from benchmarks.sla.load import run_callers
from benchmarks.speechsquad.asking import ask_typed, prepare_to_ask
from benchmarks.speechsquad.questions import Ending, choose, deal, record
from benchmarks.speechsquad.report import Report, make_report, table, within_budget
from benchmarks.speechsquad.voices import Recordings, SynthesizerMissingError, recipe
from modelkit.errors import DataError
from service.processes.child_process import SERVE, listening
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.speechsquad.questions import SpokenQuestion

_DATA = Path(os.environ.get("VIVAVOCE_DATA", Path(__file__).parents[4] / "shared" / "data")) / "qa" / "xquad_en.json"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "vivavoce" / "speechsquad"
_SEED = 1
"""Same questions, speakers and times in every run."""
_BUDGET_MS = 300.0
"""For the 95th percentile of the reply latency; a load that breaks it is the last of its ending."""
_ENDINGS = {ending.value: ending for ending in Ending}


def _numbers(_: click.Context, __: click.Parameter, value: str) -> list[int]:
    """Reads `1,2,4`."""
    try:
        numbers = [int(part) for part in value.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise click.BadParameter(f"{value!r} is no list of numbers; write 1,2,4")
    return numbers


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--server", metavar="HOST:PORT", help="A running service.  [default: one of its own]")
@click.option(
    "--streams", callback=_numbers, default="1,2,4,8,16,32,64", show_default=True, help="Questions asked at a time."
)
@click.option("--questions", type=click.IntRange(1), default=240, show_default=True, help="How many are drawn.")
@click.option("--seconds", type=click.FloatRange(1), default=80, show_default=True, help="Longest time of a load.")
@click.option("--ending", type=click.Choice([*_ENDINGS, "both"]), default="both", show_default=True)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=_DATA,
    help="Questions in SQuAD's format.  [default: XQuAD English in the folder VIVAVOCE_DATA]",
)
@click.option("--json", "json_file", type=FileToWrite(), help="Write everything that was measured.")
def main(
    *,
    server: str | None,
    streams: list[int],
    questions: int,
    seconds: float,
    ending: str,
    data: Path,
    json_file: Path | None,
) -> None:
    """Ask spoken questions about paragraphs, ever more at a time, and print how late the answers come."""
    endings = list(Ending) if ending == "both" else [_ENDINGS[ending]]
    with Console(stderr=True).status("") as status:

        def tell(what: str) -> None:
            status.update(f"{what} …")

        try:
            spoken = record(choose(data, questions, _SEED), Recordings(_CACHE), _SEED, tell)
        except (DataError, SynthesizerMissingError) as error:
            raise click.ClickException(str(error)) from error
        with _service(server) as address:
            reports = _measure(address, spoken, [(how, streams) for how in endings], seconds, tell)
    click.echo(table(reports))
    if json_file is not None:
        command = f"python -m benchmarks.speechsquad {shlex.join(sys.argv[1:])}".rstrip()
        found = {"data": data.name, "voice": recipe(), "budget_ms": _BUDGET_MS, "loads": reports}
        keep(json_file, command, found)


def _measure(
    address: str,
    spoken: Sequence[SpokenQuestion],
    loads: Sequence[tuple[Ending, Sequence[int]]],
    seconds: float,
    tell: Callable[[str], None],
) -> list[Report]:
    """Runs the loads of every ending up to the first that breaks the budget."""
    tell("typing the questions")
    typed = asyncio.run(ask_typed(address, [one.question for one in spoken]))
    reports: list[Report] = []
    for ending, streams in loads:
        for count in streams:
            tell(f"{count} questions at a time, {ending.value}")
            plans = deal(spoken, count, ending, seconds, _SEED)
            reports.append(make_report(run_callers(address, plans, prepare_to_ask), ending, typed))
            if not within_budget(reports[-1], _BUDGET_MS):
                break
    return reports


@contextmanager
def _service(server: str | None) -> Iterator[str]:
    """Yields the address of the service named, or of one that is started and stopped."""
    if server is not None:
        yield server
        return
    with (
        tempfile.TemporaryDirectory() as directory,
        listening(SERVE, Path(directory, "log.txt")) as (_, address),
    ):
        yield address


if __name__ == "__main__":
    main()
