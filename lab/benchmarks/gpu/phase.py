"""Runs one phase: ``python -m benchmarks.gpu.phase NAME FILE [FLAG …]``. ``benchmarks.gpu`` calls it so."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.gpu.sheet import Sheet

if TYPE_CHECKING:
    from benchmarks.gpu.plan import Plan


def run_phase(name: str, plan: Plan, sheet: Sheet) -> None:
    """Runs a phase, each of which imports no more than it needs: one may lack packages, and the others still run."""
    from benchmarks.gpu.plan import SERVER  # noqa: PLC0415 - see main

    if name == SERVER:
        from benchmarks.gpu.trial import try_server  # noqa: PLC0415 - see above

        try_server(plan, sheet)
    elif name == "ceilings":
        from benchmarks.gpu.ceilings import measure_ceilings  # noqa: PLC0415 - see above

        measure_ceilings(plan, sheet)
    elif name == "correctness":
        from benchmarks.gpu.correctness import check_everything  # noqa: PLC0415 - see above

        check_everything(plan, sheet)
    elif name == "recognition":
        from benchmarks.gpu.recognition import measure_recognition  # noqa: PLC0415 - see above

        measure_recognition(plan, sheet)
    elif name == "chain":
        from benchmarks.gpu.chain import hold_conversations  # noqa: PLC0415 - see above

        hold_conversations(plan, sheet)
    else:
        from benchmarks.gpu.throughput import load_network  # noqa: PLC0415 - see above

        load_network(plan, plan.case(name), sheet)


def main() -> None:
    """Runs a phase and notes why it fails, if it does."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.phase", description=main.__doc__)
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--without-server", action="store_true")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s  %(message)s")
    sheet = Sheet(given.file, given.name)
    try:
        # The processes of the callers import this module too: what it needs itself is imported here.
        from benchmarks.gpu.plan import choose_plan  # noqa: PLC0415 - see above

        run_phase(given.name, choose_plan(dry_run=given.dry_run, without_server=given.without_server), sheet)
    except Exception as error:
        sheet.fail(f"{type(error).__name__}: {error}"[:2000])
        raise


if __name__ == "__main__":
    main()
