"""Starts of services and Tritons are counted, and a run that makes too many of them fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.processes.child_process import SERVE
from tests.starts import Starts
from tests.unit.plugin_runs import pytest_with

if TYPE_CHECKING:
    from pathlib import Path

STARTS = """
import subprocess, sys

def test_one():
    subprocess.run([sys.executable, "-c", "", "serve"])

def test_other():
    subprocess.run([sys.executable, "-c", "", "serve", "--triton", "somewhere"])
"""


@pytest.mark.parametrize(
    ("command", "services", "tritons"),
    [
        (("python", *SERVE), 1, 1),
        (("python", *SERVE, "--triton", "unix:/a"), 1, 0),
        (("python", "-m", "service.triton"), 0, 1),
        (("python", "bound_program.py", "/somewhere/bin/tritonserver", "--x"), 0, 1),
        (("python", "-m", "tests.integration.one_conversation", "log", "6"), 1, 1),
        (("python", "-m", "vivavoce", "ask", "hello"), 0, 0),
    ],
)
def test_what_a_command_starts(command: tuple[str, ...], services: int, tritons: int):
    starts = Starts()
    starts.count(command)
    assert (starts.services, starts.tritons) == (services, tritons)


@pytest.mark.parametrize(
    ("workers", "services", "tritons", "status"), [((), 2, 1, 0), ((), 1, 1, 1), (("-p", "xdist", "-n", "2"), 2, 0, 1)]
)
def test_too_many_starts_fail_the_run(
    tmp_path: Path, workers: tuple[str, ...], services: int, tritons: int, status: int
):
    (tmp_path / "test_it.py").write_text(STARTS)
    bounds = [f"--max-services={services}", f"--max-tritons={tritons}"]
    done = pytest_with("tests.starts", tmp_path, *bounds, *workers)
    assert done.returncode == status, done.stdout
    assert "started 2 services and 1 Tritons" in done.stdout
