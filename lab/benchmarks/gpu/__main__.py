"""Measures the BERTs and the whole chain on a GPU: ``python -m benchmarks.gpu --out DIR``.

Writes ``PHASE.json`` and ``PHASE.log`` for every phase, and ``results.json`` and ``results.md`` anew after each.
All of them lie in ``results.tar`` too, which is written anew likewise, to be taken along as one file.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.gpu.device_check import DeviceError, describe_device
from benchmarks.gpu.plan import SERVER, choose_plan
from benchmarks.gpu.report import pack_results, write_report
from benchmarks.gpu.sheet import Sheet, read_error
from service.processes.bound_program import bound

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Runs the phases one after another, each within its time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--phase", action="append", dest="phases", help="only this one; may be repeated [default: all]")
    parser.add_argument("--seconds", type=float, default=480, help="for everything [default: 480]")
    parser.add_argument("--dry-run", action="store_true", help="every step once on a CPU, with tiny networks")
    parser.add_argument("--without-server", action="store_true", help="leave out what needs Triton")
    given = parser.parse_args()
    plan = choose_plan(dry_run=given.dry_run, without_server=given.without_server)
    names = given.phases or plan.phases
    unknown = set(names) - set(plan.phases)
    if unknown:
        parser.error(f"there is no phase {', '.join(sorted(unknown))}: name some of {', '.join(plan.phases)}")
    try:
        device = describe_device(plan.device)
    except DeviceError as error:
        parser.exit(1, f"benchmarks.gpu: {error}\n")
    given.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + given.seconds
    flags = ["--dry-run"] * given.dry_run + ["--without-server"] * given.without_server
    failed = []
    # A run may have been there before, with other phases: what it found stays.
    whole = choose_plan(dry_run=given.dry_run, without_server=False)
    left = list(names)
    while left:
        name = left.pop(0)
        file = given.out / f"{name}.json"
        later = sum(plan.limits[other] for other in left)
        _run(name, file, _seconds(plan.limits[name], end - time.monotonic(), later), flags)
        write_report(given.out, whole, device, " ".join(["python -m benchmarks.gpu", *flags]))
        pack_results(given.out)
        failed += [name] * (read_error(file) is not None)
        if name == SERVER and name in failed:
            print("Triton does not serve here: what needs no server is measured", flush=True)
            plan = choose_plan(dry_run=given.dry_run, without_server=True)
            flags.append("--without-server")
            left = [other for other in left if other in plan.phases]
    print((given.out / "results.md").read_text(encoding="utf-8"))
    if failed:
        parser.exit(1, f"benchmarks.gpu: {', '.join(failed)} did not end as it should: see the logs in {given.out}\n")


def _seconds(limit: float, left: float, later: float) -> float:
    """Returns how long a phase may take: what those after it do not need, and no less than its own limit.

    Args:
        limit: its own.
        left: for everything.
        later: limits of those after it.
    """
    return min(left, max(limit, left - later))


def _run(name: str, file: Path, seconds: float, flags: Sequence[str]) -> None:
    """Runs a phase in a process of its own, and ends it with all that it started when its time is up."""
    if seconds < 5:
        Sheet(file, name).fail("there was no time left for it")
        return
    command = [sys.executable, "-m", "benchmarks.gpu.phase", name, str(file), *flags]
    print(f"==> {name} (at most {seconds:.0f} s)", flush=True)
    with file.with_suffix(".log").open("w") as log:
        process = subprocess.Popen(bound(command), stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            _note(file, name, f"it was ended after {seconds:.0f} s")
        except BaseException:
            _end(process)
            raise
        else:
            if status:
                _note(file, name, f"it ended with status {status}: see {name}.log")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a phase at once. Triton ends with it, for it asked the kernel to (service/triton/process.py)."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _note(file: Path, name: str, reason: str) -> None:
    """Notes why a phase ended, where it has not done so itself; the rows that it wrote stay."""
    if read_error(file) is None:
        Sheet.reopen(file, name).fail(reason)


if __name__ == "__main__":
    main()
