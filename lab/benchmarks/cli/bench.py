"""`vivavoce bench`: what a service and its models carry, measured from outside."""

from __future__ import annotations

import click

from benchmarks.cli.bench_dialogs import dialogs
from benchmarks.cli.bench_doors import doors
from benchmarks.cli.bench_sla import sla
from benchmarks.cli.bench_triton import triton
from benchmarks.cli.bench_turns import turns


@click.group()
def bench() -> None:
    """Measure a running service, or one of its models, under load."""


bench.add_command(dialogs)
bench.add_command(doors)
bench.add_command(sla)
bench.add_command(triton)
bench.add_command(turns)
