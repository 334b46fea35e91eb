"""`vivavoce tune`: from a new machine to the settings with which it holds the most conversations."""

from __future__ import annotations

import json
import os
import shlex
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite, engine_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.tuning.outcome import Outcome
    from benchmarks.tuning.search import Found
    from benchmarks.tuning.space import Candidate


@click.command()
@click.option(
    "--budget-ms", type=click.FloatRange(20, 60_000), default=300, show_default=True, help="What replies must keep."
)
@click.option("--memory-mb", type=click.FloatRange(1), help="What the service with its models may take, in MiB.")
@click.option("--minutes", type=click.FloatRange(1), default=30, show_default=True, help="Time for the search.")
@click.option(
    "--out",
    type=FileToWrite(),
    default="settings.toml",
    show_default=True,
    help="The settings file to write, for `vivavoce serve --settings`.",
)
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="What is said: a JSON object a line.  [default: the demonstration's recordings]",
)
@engine_option("Tune with this engine in place of the shipped one.")
@click.option("--seconds", type=click.FloatRange(5), default=20, show_default=True, help="Length of a conversation.")
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same conversations.")
@click.option("--fresh", is_flag=True, help="Begin anew, without what an earlier search with this --out has measured.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a measurement and one at the end.")
def tune(  # noqa: PLR0915 - one step after another
    *,
    budget_ms: float,
    memory_mb: float | None,
    minutes: float,
    out: Path,
    manifest: Path | None,
    engines: tuple[Path, ...],
    seconds: float,
    seed: int,
    fresh: bool,
    as_json: bool,
) -> None:
    """Search the settings that are best for this machine, and write them to a file.

    Services with other settings are started one after another, and live conversations are held with them. Nothing
    else should run meanwhile. Interrupted, the best so far is written, and the next run goes on where this one stopped.
    A report with a picture is written beside the settings. Under a memory bound networks are cut into stages too.
    """
    with extra("bench", "Tuning"):
        from benchmarks.processes import ProcessesError  # noqa: PLC0415 - needs the extras
        from benchmarks.provenance import machine  # noqa: PLC0415
        from benchmarks.sla.material import DEMONSTRATION, read_items  # noqa: PLC0415
        from benchmarks.tuning import journal, report, search, space  # noqa: PLC0415
        from benchmarks.tuning import outcome as outcomes  # noqa: PLC0415
        from benchmarks.tuning.service import LiveMeasurement, configs  # noqa: PLC0415
        from benchmarks.tuning.stages import StagedEngines, can_split  # noqa: PLC0415
    staged = StagedEngines(out.with_name(f"{out.stem}.engines"), engines)
    try:
        live = LiveMeasurement(read_items(manifest or DEMONSTRATION), budget_ms, seed, staged, memory_mb)
        accelerated = space.accelerators()
        bounded = memory_mb is not None and can_split()
        moves = space.moves(os.cpu_count() or 1, configs(engines), accelerated, bounded=bounded)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    log = out.with_name(f"{out.name}.log")
    if fresh:
        log.unlink(missing_ok=True)
    spent = 0.0
    console = Console(stderr=True, highlight=False)

    def tell(candidate: Candidate, streams: int, outcome: Outcome, known: bool) -> None:
        nonlocal spent
        spent += outcome.took_seconds
        point = outcomes.Measured(candidate, streams, outcome)
        if as_json:
            click.echo(json.dumps(report.as_dict(point)))
        again = ", as measured before" if known else ""
        progress = f"[{spent / 60:.1f} of {minutes:g} min{again}]"
        console.print(f"{progress} {report.line(point)}", markup=False, soft_wrap=True)

    conditions = {
        "version": metadata.version("vivavoce-server"),
        "machine": machine(),
        "budget_ms": budget_ms,
        "seed": seed,
        "said": str(manifest or "demonstration"),
        "engines": [str(engine) for engine in engines],
        "memory_mb": memory_mb,
        "accelerators": [list(one) for one in accelerated],
    }
    try:
        measure = journal.Journal(log, conditions, live, tell)
    except journal.OtherSearchError as error:
        raise click.ClickException(str(error)) from error
    searching = search.Search(moves, measure, 60 * minutes, seconds, console.print)
    try:
        with console.status("holding conversations …"):
            found = searching.run()
    except search.DefaultFailedError as error:
        raise click.ClickException(f"{error}: mend that, and begin anew with --fresh") from error
    except (KeyboardInterrupt, ProcessesError) as error:
        if searching.found.points:
            report.write_settings(searching.found, out, machine(), budget_ms, staged.of(searching.found.best))
            console.print(f"The best so far is in {out}. The same command goes on from here.", soft_wrap=True)
        if isinstance(error, ProcessesError):
            raise click.ClickException(str(error)) from error
        raise
    finally:
        staged.keep(searching.found.best)
    chosen = staged.of(found.best)
    report.write_settings(found, out, machine(), budget_ms, chosen)
    page = report.write_report(found, out, machine(), budget_ms, memory_mb)
    _show(found, out, page, chosen, as_json=as_json)


def _show(found: Found, out: Path, page: Path, engines: Sequence[Path], *, as_json: bool) -> None:
    from benchmarks.tuning import report  # noqa: PLC0415 - needs the extras

    result = report.summary(found, out) | {"report": str(page)}
    if as_json:
        click.echo(json.dumps(result))
        return
    console = Console(highlight=False)
    console.print(report.front_table(found))
    console.print(report.verdict_line(found), soft_wrap=True)
    chosen = [part for engine in engines for part in ("--engine", str(engine))]
    serve = shlex.join(["vivavoce", "serve", *chosen, "--settings", str(out)])
    console.print(f"report: {page}", soft_wrap=True)
    console.print(f"written to {out}: start the service with `{serve}`", soft_wrap=True)
