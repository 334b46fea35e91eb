"""A service that is killed at whatever moment of its start leaves no process, no folder and no shared memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from service.processes.child_process import SERVE
from service.triton.guardian import VARIABLE, segment_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WITHOUT_NAMESPACES = str(Path(__file__).parents[1] / "without_namespaces.py")


@pytest.fixture
def base() -> Iterator[Path]:
    """The folder for temporary files, with a name that is short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="v-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def processes_of(base: Path) -> list[str]:
    """The names of the processes of the runs in a folder, guardians apart."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(VARIABLE, "").startswith(str(base)):
                found.append(process.name())
    return found


def stub_count(base: Path) -> int:
    """How many processes of models there are."""
    return sum(name.startswith("triton_python") for name in processes_of(base))


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "its folder is there": lambda base: any(base.glob("vivavoce-run-*")),
    "its models are laid out": lambda base: any(base.glob("vivavoce-run-*/vivavoce-models-*/qa")),
    "Triton is being started": lambda base: bool(processes_of(base)),
    "the first model loads": lambda base: stub_count(base) >= 1,
    "half the models load": lambda base: stub_count(base) >= 4,
    "all models load": lambda base: stub_count(base) >= 8,
}


CASES = [*((moment, False) for moment in MOMENTS), ("half the models load", True)]


def until(holds: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends


@pytest.mark.parametrize(("moment", "without_namespaces"), CASES)
def test_nothing_is_left(base: Path, moment: str, without_namespaces: bool):
    command = [sys.executable, *([WITHOUT_NAMESPACES, sys.executable] if without_namespaces else []), *SERVE]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(base)}
    ) as service:
        try:
            until(lambda: MOMENTS[moment](base), 60)
            (folder,) = base.glob("vivavoce-*")
        finally:
            service.kill()
    until(lambda: not processes_of(base) and not any(base.glob("vivavoce-*")), 10)
    assert not any(Path("/dev/shm").glob(f"{segment_prefix(folder)}*"))
