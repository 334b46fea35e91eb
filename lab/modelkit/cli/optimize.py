"""`vivavoce optimize`: a trained engine made smaller and faster, with what that costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from modelkit.optimize.run import Outcome

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("engine", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--data", type=_FILE, multiple=True, required=True, help="What it was trained on. May be repeated.")
@click.option(
    "--eval", "evaluation", type=_FILE, required=True, help="Score on this file; it is used for nothing else."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Engine directory to write."
)
@click.option("--points", metavar="A,B,…", help="Only these lines of the table.  [default: all]")
@click.option(
    "--minutes-per-point", type=click.FloatRange(0, min_open=True), default=15, show_default=True, help="For training."
)
@click.option(
    "--rows", type=click.IntRange(64), default=20_000, show_default=True, help="Inputs that students learn from."
)
@click.option("--limit", type=click.IntRange(10), help="Score on so many items of --eval only.")
@click.option(
    "--max-loss",
    type=click.FloatRange(0, 100),
    default=0.7,
    show_default=True,
    help="Percent of the score that the fastest point may lose to be chosen.",
)
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True, help="Cores that a network may use.")
@click.option("--time-again", is_flag=True, help="Measure the times of what is in --out once more, in one sitting.")
@click.option("--json", "json_file", metavar="FILE", type=FileToWrite(allow_dash=True), help="- for stdout.")
def optimize(
    *,
    engine: Path,
    data: tuple[Path, ...],
    evaluation: Path,
    out: Path,
    points: str | None,
    minutes_per_point: float,
    rows: int,
    limit: int | None,
    max_loss: float,
    threads: int,
    time_again: bool,
    json_file: Path | None,
) -> int:
    """Compress ENGINE, a directory that `vivavoce train` wrote, in many ways, and write the best one.

    Points that were measured before are taken from --out; delete its points/NAME to measure one again.
    """
    with extra("train", "Optimizing"):
        import torch  # noqa: PLC0415 - loading a command stays quick

        from modelkit.errors import ModelkitError  # noqa: PLC0415
        from modelkit.optimize.options import OptimizeOptions  # noqa: PLC0415
        from modelkit.optimize.run import optimize as run  # noqa: PLC0415
        from modelkit.training.progress import new_display  # noqa: PLC0415
    torch.set_num_threads(threads)
    names = tuple(name.strip() for name in points.split(",")) if points else ()
    options = OptimizeOptions(
        engine=engine,
        data=data,
        evaluation=evaluation,
        out=out,
        points=names,
        minutes=minutes_per_point,
        rows=rows,
        limit=limit,
        allowed_loss=max_loss / 100,
        threads=threads,
        time_again=time_again,
    )
    try:
        with new_display() as display:
            outcome = run(options, display)
    except ModelkitError as error:
        raise click.ClickException(str(error)) from error
    _show(outcome, out, json_file)
    return 0


def _show(outcome: Outcome, out: Path, json_file: Path | None) -> None:
    fields = {"best": outcome.best, "points": [result.to_json() for result in outcome.results]}
    text = json.dumps(fields)
    if json_file is not None:
        with click.open_file(str(json_file), "w", encoding="utf-8", atomic=str(json_file) != "-") as file:
            file.write(text + "\n")
    if str(json_file) != "-":
        click.echo((out / "table.md").read_text(encoding="utf-8"), nl=False)
        chosen = (
            f"chosen: {outcome.best}, written to {out}"
            if outcome.best
            else "no point loses little enough: none was written"
        )
        click.echo(f"\n{chosen}")
