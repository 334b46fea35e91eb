"""The script for a machine with nothing but PyTorch, beside interpreters that are none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
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
    own = tmp_path / "environment" / "packages"
    own.mkdir(parents=True)

    def run_with(*, library=True, triton=True):
        python = program(
            tmp_path / "python3",
            'case "$2" in *ctypes*) exec test -e "${LD_LIBRARY_PATH%%:*}/libpython3.12.so.1.0";;'
            f" *version_info*) echo libpython3.12.so.1.0;; *LIBDIR*) echo {tmp_path};; *sys.path*) echo /there;;"
            " *) exit 9;; esac",
        )
        program(
            tmp_path / "environment" / "bin" / "python",
            f'case "$2" in *purelib*) echo {own};; benchmarks.gpu.register) ;; *) echo "$@";; esac',
        )
        if library:
            (tmp_path / "libpython3.12.so.1.0").touch()
        if triton:
            program(own / "pytriton" / "tritonserver" / "bin" / "tritonserver", "")
            program(own / "pytriton" / "tritonserver" / "python_backend_stubs" / "3.12" / "stub", "")
        return subprocess.run(
            ["bash", SCRIPT, tmp_path, "results", "--seconds", "400"],
            env=os.environ | {"PYTHON": python, "ENVIRONMENT": str(tmp_path / "environment")},
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )

    return run_with


def test_everything_is_measured_where_triton_can_run_models(run, tmp_path):
    done = run()
    assert done.stdout == f"-m benchmarks.gpu --out {tmp_path}/results --seconds 400\n"
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "environment" / "packages" / "machine.pth").read_text().splitlines()[-1] == "/there"


@pytest.mark.parametrize(
    ("lacking", "reason"),
    [
        ("library", "there is no libpython3.12.so.1.0 here, so Triton runs no model: what needs no server is measured"),
        ("triton", "Triton is not in {packages}: what needs no server is measured"),
    ],
)
def test_without_triton_or_the_library_of_python_the_rest_is_measured(lacking, reason, run, tmp_path):
    done = run(**{lacking: False})
    assert done.stdout == f"-m benchmarks.gpu --out {tmp_path}/results --seconds 400 --without-server\n"
    assert done.returncode == 0
    assert done.stderr == f"bare_machine.sh: {reason.format(packages=tmp_path)}\n"


def test_packages_that_arrive_later_are_unpacked_once(run, tmp_path):
    own = tmp_path / "environment" / "packages"
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text("")
        with tarfile.open(tmp_path / f"site-{name}.tar.xz", "w:xz") as archive:
            archive.add(tmp_path / f"{name}.py", f"{name}.py")
        assert run().returncode == 0
        assert (own / f"{name}.py").exists()
        (own / f"{name}.py").unlink()
    assert run().returncode == 0
    assert not list(own.glob("*.py"))


def test_an_archive_unpacks_its_tree_beside_its_packages(tmp_path):
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("tree", "tree-more"):
        script = program(tmp_path / f"{name}.sh", 'echo "$@"')
        with tarfile.open(packages / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(script, "lab/benchmarks/gpu/bare_machine.sh" if name == "tree" else "more.sh")
    run_archive = shutil.copy(SCRIPT.with_name("run_archive.sh"), tmp_path / "run.sh")
    for _ in range(2):
        done = subprocess.run(["bash", run_archive, "OUT", "--dry-run"], capture_output=True, text=True, check=True)
        assert done.stdout == f"{packages} OUT --dry-run\n"
    assert (tmp_path / "tree" / "more.sh").exists()
