"""`vivavoce bench`: what a service and its models carry, measured from outside."""

from __future__ import annotations

import click

from benchmarks.cli._dialogs import dialogs
from benchmarks.cli._doors import doors
from benchmarks.cli._sla import sla
from benchmarks.cli._triton import triton
from benchmarks.cli._turns import turns


@click.group()
def bench() -> None:
    """Measure a running service, or one of its models, under load."""


bench.add_command(dialogs)
bench.add_command(doors)
bench.add_command(sla)
bench.add_command(triton)
bench.add_command(turns)
