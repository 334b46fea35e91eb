"""`vivavoce bench turns`: how well the end of a turn is told from a pause within it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMNS = {
    "auc": "AUC",
    "cut_at_300_ms": "cut at 300 ms, %",
    "cut_at_600_ms": "cut at 600 ms, %",
    "wait_ms_for_5_percent": "wait for 5 %, ms",
    "wait_ms_for_10_percent": "wait for 10 %, ms",
    "judgement_ms": "a judgement, ms of a core",
}


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--half",
    type=click.Choice(["tuning", "reporting"]),
    default="reporting",
    show_default=True,
    help="Which half of the recordings.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the pauses that are put in.")
@click.option("--json", "json_file", type=FileToWrite(), help="Write what was found, with command and machine.")
@click.option("--plot", "plot_file", type=FileToWrite(), help="Write the curves as PNG.")
def turns(*, data: Path, half: str, seed: int, json_file: Path | None, plot_file: Path | None) -> None:
    """Tell the ends of turns from pauses within them.

    DATA is a folder of recordings, one turn each. Pauses are put into them at quiet places. The silence rule, Smart
    Turn and our engine judge all of them.
    """
    with extra("bench", "A benchmark"):
        from benchmarks import provenance  # noqa: PLC0415 - needs the extra
        from benchmarks.turns import report, run  # noqa: PLC0415
        from modelkit.errors import ModelkitError  # noqa: PLC0415
    console = Console(stderr=True)
    try:
        found = run.measure(data, half, seed, lambda text: console.print(text, style="dim"))
    except ModelkitError as error:
        raise click.ClickException(str(error)) from error
    if json_file is not None:
        provenance.keep(json_file, f"vivavoce bench turns DATA --half {half} --seed {seed}", found)
    if plot_file is not None:
        report.plot({name: system["curve"] for name, system in found["systems"].items()}, plot_file)
    _show(found)


def _show(found: Mapping[str, Any]) -> None:
    console = Console()
    table = Table("system", *_COLUMNS.values(), title=f"{found['pauses']} pauses, {found['ends']} ends")
    for name, system in found["systems"].items():
        table.add_row(name, *(_cell(system.get(column)) for column in _COLUMNS))
    console.print(table)
    patience = found["patience"]
    columns = next(iter(patience.values()))
    table = Table("patience", *(column.replace("_", " ") for column in columns))
    for name, row in patience.items():
        table.add_row(name, *(_cell(value) for value in row.values()))
    console.print(table)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
