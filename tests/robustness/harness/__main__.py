"""``python -m tests.robustness.harness``: many rounds of faults, and a table of what they found."""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tests.robustness.harness.faults import FAULTS, named
from tests.robustness.harness.rounds import rounds
from tests.robustness.harness.world import can_mount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.robustness.harness.faults import Fault
    from tests.robustness.harness.rounds import Outcome


def table(outcomes: Sequence[Outcome]) -> str:
    """Returns a table of the faults and how their rounds went."""
    by_fault: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_fault[outcome.fault].append(outcome)
    heads = ("fault", "rounds", "utterances", "reconnections", "recoveries", "longest, s", "violations")
    lines = [_row(heads), "|---" + "|--:" * (len(heads) - 1) + "|"]
    for name, of_it in by_fault.items():
        cells = (
            name,
            len(of_it),
            sum(one.utterances for one in of_it),
            sum(one.reconnections for one in of_it),
            sum(one.recoveries for one in of_it),
            max(one.longest_seconds for one in of_it),
            sum(len(one.violations) for one in of_it),
        )
        lines.append(_row(cells))
    return "\n".join(lines)


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


async def _run(faults: Sequence[Fault], seed: int, folder: Path) -> list[Outcome]:
    outcomes = []
    async for outcome in rounds(folder, faults, seed):
        outcomes.append(outcome)
        click.echo(f"{outcome.fault} at {outcome.at_seconds} s: {len(outcome.violations)} violations")
        for violation in outcome.violations:
            click.echo(f"    {violation}")
    return outcomes


@click.command()
@click.option("--rounds", "count", type=click.IntRange(1), default=1, show_default=True, help="Of every fault.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order, and of when faults happen.")
@click.option("--fault", "names", multiple=True, help="Only this one; may be given again. Default: all.")
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False), help="Folder that keeps the logs.")
def main(count: int, seed: int, names: Sequence[str], keep: Path | None) -> None:
    """Inject faults while callers talk, and judge what they recorded. Exit status 1: a promise was broken."""
    known = [fault.name for fault in FAULTS]
    for name in names:
        if name not in known:
            raise click.BadParameter(f"there is no fault {name!r}: name one of {', '.join(known)}")
    faults = [fault for fault in (map(named, names) if names else FAULTS) for _ in range(count)]
    if not can_mount():
        left_out = sorted({fault.name for fault in faults if fault.needs_mounts})
        click.echo(f"left out, because no file systems can be mounted here: {', '.join(left_out) or 'none'}")
        faults = [fault for fault in faults if not fault.needs_mounts]
    random.Random(seed).shuffle(faults)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
        outcomes = asyncio.run(_run(faults, seed, keep or Path(temporary)))
    click.echo(table(outcomes))
    sys.exit(any(outcome.violations for outcome in outcomes))


if __name__ == "__main__":
    main()
