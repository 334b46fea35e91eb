"""What becomes of a bound program's process before it is the program, with real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from service.processes.bound_program import bound

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")

NICENESS = [sys.executable, "-c", "import os; print(os.nice(0))"]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)


def test_the_process_that_was_started_is_the_program_with_its_arguments_and_its_exit_status():
    code = "import os, sys; print(os.getpid(), sys.argv[1:]); sys.exit(7)"
    with subprocess.Popen(bound([sys.executable, "-c", code, "--behind", ""]), stdout=subprocess.PIPE) as process:
        said, _ = process.communicate(timeout=30)
    assert said.decode() == f"{process.pid} ['--behind', '']\n"
    assert process.returncode == 7


def test_only_who_is_to_run_behind_does():
    here = os.nice(0)
    assert int(run(bound(NICENESS)).stdout) == here
    assert int(run(bound(NICENESS, behind=True)).stdout) == min(19, here + 5)


def test_a_program_that_is_not_there_is_named(tmp_path: Path):
    done = run(bound([str(tmp_path / "nothing")]))
    assert done.returncode == 127
    assert done.stderr == f"{tmp_path / 'nothing'} cannot be started: No such file or directory\n"


def test_what_python_ignores_for_itself_is_not_ignored_by_the_program():
    ignored = int(run(bound(["grep", "^SigIgn", "/proc/self/status"])).stdout.split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1)
    assert not ignored & (1 << signal.SIGXFSZ - 1)


def test_a_program_whose_parent_is_gone_is_not_run(tmp_path: Path):
    command = bound([sys.executable, "-c", f"open({str(tmp_path / 'ran')!r}, 'w')"])
    orphan = [part if part != str(os.getpid()) else "1" for part in command]
    assert run(orphan).returncode == 1
    assert not list(tmp_path.iterdir())
