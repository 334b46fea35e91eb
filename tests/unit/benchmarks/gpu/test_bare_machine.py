"""The script for a machine with nothing but PyTorch, beside interpreters that are none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[4] / "benchmarks" / "gpu" / "bare_machine.sh"


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def run(tmp_path):
    def run_with(library):
        python = program(
            tmp_path / "python3",
            'case "$2" in *ctypes*) exec test -e "${LD_LIBRARY_PATH%%:*}/libpython3.12.so.1.0";;'
            f" *version_info*) echo libpython3.12.so.1.0;; *LIBDIR*) echo {tmp_path};; *) exit 9;; esac",
        )
        program(tmp_path / "environment" / "bin" / "python", 'echo "$@"')
        (tmp_path / "environment" / ".ready").touch()
        if library:
            (tmp_path / "libpython3.12.so.1.0").touch()
        return subprocess.run(
            ["bash", SCRIPT, tmp_path, "results", "--seconds", "540"],
            env=os.environ | {"PYTHON": python, "ENVIRONMENT": str(tmp_path / "environment")},
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )

    return run_with


def test_everything_is_measured_where_triton_can_run_models(run, tmp_path):
    done = run(library=True)
    assert done.stdout == f"-m benchmarks.gpu --out {tmp_path}/results --seconds 540\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_without_the_library_of_python_the_rest_is_measured(run, tmp_path):
    done = run(library=False)
    assert done.stdout == f"-m benchmarks.gpu --out {tmp_path}/results --seconds 540 --without-server\n"
    assert done.returncode == 0
    assert done.stderr == (
        "bare_machine.sh: there is no libpython3.12.so.1.0 here, so Triton runs no model: "
        "what needs no server is measured\n"
    )
