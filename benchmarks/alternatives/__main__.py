"""Compares the capacities of the service, the service with its flags off, and the naive baseline.

``python -m benchmarks.alternatives`` starts all three and lets the callers of ``vivavoce bench sla`` talk to one after
another, step by step.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.alternatives.measuring import Load
from benchmarks.alternatives.searching import fill_in, search_all
from benchmarks.alternatives.tables import Found, markdown, summarize
from benchmarks.alternatives.variants import OURS, all_variants, running
from benchmarks.provenance import keep
from benchmarks.sla.material import DEMONSTRATION, read_items
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from benchmarks.sla.report import Report

_SETTLING_SECONDS = 12.0
"""What a load takes beside the time that callers stay: processes start, callers arrive, recordings are heard out."""
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.option("--minutes", type=click.FloatRange(1), default=22, show_default=True, help="For all of it.")
@click.option("--seconds", type=click.FloatRange(5), default=30, show_default=True, help="How long each load lasts.")
@click.option(
    "--budget-ms", type=click.FloatRange(20, 60_000), default=300, show_default=True, help="For the 95th percentile."
)
@click.option("--start", type=click.IntRange(1), default=4, show_default=True, help="Streams of the first load.")
@click.option("--nlu-engine", type=_FOLDER, help="Float32 network for intents.  [default: the shipped one, recovered]")
@click.option("--qa-engine", type=_FOLDER, help="Likewise for answers.")
@click.option("--json", "json_file", type=FileToWrite(), help="Keep every report here.")
def main(
    *,
    minutes: float,
    seconds: float,
    budget_ms: float,
    start: int,
    nlu_engine: Path | None,
    qa_engine: Path | None,
    json_file: Path | None,
) -> None:
    """Find how many conversations each variant carries, and print a Markdown table."""
    end = time.monotonic() + 60 * minutes
    load = Load(read_items(DEMONSTRATION), seconds, budget_ms)

    def has_time() -> bool:
        return time.monotonic() + seconds + _SETTLING_SECONDS < end

    with (
        tempfile.TemporaryDirectory() as logs,
        running(all_variants(nlu_engine, qa_engine), Path(logs)) as services,
    ):
        by_name = {service.name: service for service in services}

        def measure(name: str, streams: int) -> Report:
            report = load.measure(by_name[name], streams)
            click.echo(f"{name}, {streams} streams: {_in_short(report)}", err=True)
            return report

        searches = search_all(list(by_name), measure, budget_ms, has_time, start)
        reports = {name: search.reports for name, search in searches.items()}
        fill_in(reports, sorted({search.best for search in searches.values()} - {0}), measure, has_time)
    found = {name: Found(search.best, search.streams is None, reports[name]) for name, search in searches.items()}
    summary = summarize(found, OURS)
    click.echo(markdown(found, summary), nl=False)
    if json_file is not None:
        command = (
            f"python -m benchmarks.alternatives --minutes {minutes:g} --seconds {seconds:g} --budget-ms {budget_ms:g} "
            f"--start {start}"
        )
        engines = {"nlu": nlu_engine, "qa": qa_engine}
        command += "".join(f" --{kind}-engine {path.name}" for kind, path in engines.items() if path)
        keep(json_file, command, {"budget_ms": budget_ms, **summary, "reports": reports})


def _in_short(report: Report) -> str:
    latency = report["latency_ms"]
    assert isinstance(latency, dict)
    return (
        f"p95 {latency['reply'].get('p95')} ms, {report['statuses']}, errors {report['errors']}, lost {report['lost']}"
    )


if __name__ == "__main__":
    main()
