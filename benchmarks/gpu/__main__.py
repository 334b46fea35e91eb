"""Measures the BERTs and the whole chain on a GPU: ``python -m benchmarks.gpu --out DIR``.

Writes ``PHASE.json`` and ``PHASE.log`` for every phase, and ``results.json`` and ``results.md`` anew after each.
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

from benchmarks.gpu.device_check import DeviceError, describe_device
from benchmarks.gpu.plan import DRY, FULL
from benchmarks.gpu.report import write_report
from benchmarks.gpu.sheet import Sheet, read_error
from service.child_process import die_with_parent


def main() -> None:
    """Runs the phases one after another, each within its time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--phase", action="append", dest="phases", help="only this one; may be repeated [default: all]")
    parser.add_argument("--seconds", type=float, default=580, help="for everything [default: 580]")
    parser.add_argument("--dry-run", action="store_true", help="every step once on a CPU, with tiny networks")
    given = parser.parse_args()
    plan = DRY if given.dry_run else FULL
    unknown = set(given.phases or ()) - set(plan.phases)
    if unknown:
        parser.error(f"there is no phase {', '.join(sorted(unknown))}: name some of {', '.join(plan.phases)}")
    try:
        device = describe_device(plan.device)
    except DeviceError as error:
        parser.exit(1, f"benchmarks.gpu: {error}\n")
    given.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + given.seconds
    failed = []
    for name in given.phases or plan.phases:
        file = given.out / f"{name}.json"
        _run(name, file, min(plan.limits[name], end - time.monotonic()), given.dry_run)
        write_report(given.out, plan, device, "python -m benchmarks.gpu" + " --dry-run" * given.dry_run)
        failed += [name] * (read_error(file) is not None)
    print((given.out / "results.md").read_text(encoding="utf-8"))
    if failed:
        parser.exit(1, f"benchmarks.gpu: {', '.join(failed)} did not end as it should: see the logs in {given.out}\n")


def _run(name: str, file: Path, seconds: float, dry_run: bool) -> None:
    """Runs a phase in a process of its own, and ends it with all that it started when its time is up."""
    if seconds < 5:
        Sheet(file, name).fail("there was no time left for it")
        return
    command = [sys.executable, "-m", "benchmarks.gpu.phase", name, str(file), *["--dry-run"] * dry_run]
    print(f"==> {name} (at most {seconds:.0f} s)", flush=True)
    with file.with_suffix(".log").open("w") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - a system call, no more
        )
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
