"""Chunk latency of NVIDIA's streaming client beside our own.

``python -m benchmarks.riva`` starts the service and lets both hold the same conversations in turn, round after round,
so that whatever else the machine does hits both. NVIDIA's client runs in the environment of its integration tests.
"""

from __future__ import annotations

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import click
import soundfile

from benchmarks.provenance import RESULTS, keep
from benchmarks.sla.load import UNGUARDED, processes_for, run_load
from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, read_items
from benchmarks.sla.report import percentiles
from benchmarks.sla.scripts import Mix, Script, spoken, write_scripts
from service.processes.child_process import SERVE, listening
from tests.integrations.environments import python_for, run_alone

CALLER = Path(__file__).with_name("streams.py")
ENVIRONMENT = Path(__file__).parents[3] / "tests" / "integrations" / "riva_client"


@click.command()
@click.option("--streams", type=click.IntRange(1), default=16, show_default=True, help="Conversations at a time.")
@click.option("--seconds", type=click.FloatRange(5), default=40, show_default=True, help="How long each one lasts.")
@click.option(
    "--rounds", type=click.IntRange(1), default=4, show_default=True, help="How often each client has its turn."
)
def main(streams: int, seconds: float, rounds: int) -> None:
    """Compare chunk latencies, and keep them in benchmarks/results/riva-chunk-latency.json."""
    items = read_items(DEMONSTRATION)
    ours: list[list[float]] = []
    theirs: list[list[float]] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        listening([*SERVE, *UNGUARDED], Path(directory, "log.txt")) as (_, address),
    ):
        for number in range(rounds):
            scripts = write_scripts(items, streams, seconds, Mix(listeners=0, questions=0), seed=number)
            clients = [(ours, our_client), (theirs, riva_client)]
            for latencies, client in clients if number % 2 else reversed(clients):
                latencies.append(client(address, scripts, Path(directory)))
    command = f"python -m benchmarks.riva --streams {streams} --seconds {seconds:g} --rounds {rounds}"
    print(keep(RESULTS / "riva-chunk-latency.json", command, compare(ours, theirs)))


def our_client(address: str, scripts: list[Script], _: Path) -> list[float]:
    """Returns the chunk latencies, in seconds, of our own client."""
    records = run_load(address, scripts).records
    failed = [record.error for record in records if record.error is not None]
    if failed:
        raise click.ClickException(f"conversations of our own client failed: {', '.join(failed)}")
    return [latency for record in records for latency in record.chunk]


def riva_client(address: str, scripts: list[Script], directory: Path) -> list[float]:
    """Returns the chunk latencies, in seconds, of NVIDIA's client in as many processes as ours has."""
    processes = processes_for(len(scripts))
    shares = [scripts[first::processes] for first in range(processes)]
    files = [_write(share, directory / str(number)) for number, share in enumerate(shares)]
    python = python_for(ENVIRONMENT)
    with ThreadPoolExecutor(processes) as pool:
        said = pool.map(lambda file: run_alone(python, str(CALLER), address, str(file)), files)
        return [latency for output in said for latency in json.loads(output.splitlines()[-1])["chunk"]]


def _write(scripts: list[Script], folder: Path) -> Path:
    """Writes what each caller says as WAV, and the list of them."""
    folder.mkdir(exist_ok=True)
    callers = []
    for number, script in enumerate(scripts):
        file = folder / f"{number}.wav"
        soundfile.write(file, spoken(script), RATE_HZ)
        callers.append({"file": str(file), "arrival_seconds": script.arrival_seconds})
    listed = folder / "callers.json"
    listed.write_text(json.dumps(callers), encoding="utf-8")
    return listed


def compare(ours: list[list[float]], theirs: list[list[float]]) -> dict[str, object]:
    """Sets the rounds side by side: percentiles of all, and the median over rounds of the ratio theirs to ours."""

    def ratio(percentile: str) -> float:
        each = [percentiles(b)[percentile] / percentiles(a)[percentile] for a, b in zip(ours, theirs, strict=True)]
        return round(median(each), 3)

    return {
        "our_client_ms": percentiles(latency for one in ours for latency in one),
        "riva_client_ms": percentiles(latency for one in theirs for latency in one),
        "ratio": {percentile: ratio(percentile) for percentile in ("p50", "p95")},
    }


if __name__ == "__main__":
    main()
