"""What is left of a run when its service ends, with real processes: nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from service.processes.private_memory import SHARED_MEMORY, close_to_others
from service.triton import guardian, run_folder
from service.triton.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")

SERVICE = """
import subprocess, sys, os
from service.triton.run_folder import RunFolder
run = RunFolder.open()
sleeper = [sys.executable, '-c', 'import time; print("up", flush=True); time.sleep(600)']
# In a session of its own, and deaf, as the process of a model may be.
deaf = 'import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; '
sleeper[2] = deaf + sleeper[2]
child = subprocess.Popen(sleeper, env={**os.environ, **run.environment}, start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
open('/dev/shm/' + run.segment_prefix + 'left', 'w').close()
print(run.path, child.pid, run._guardian.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def base(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, with a name that is short enough for sockets."""
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setattr(run_folder.tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


class Service:
    """A process with a run folder, and with a child that is to go with it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVICE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        folder, child, watcher = self._process.stdout.readline().split()
        self.folder = Path(folder)
        self.segment = SHARED_MEMORY / f"{guardian.segment_prefix(self.folder)}left"
        self._child, self._guardian = psutil.Process(int(child)), psutil.Process(int(watcher))

    @property
    def left(self) -> list[object]:
        """What there is of it."""
        alive = self._child.is_running() and self._child.status() != psutil.STATUS_ZOMBIE
        return [*filter(Path.exists, (self.folder, self.segment)), *([self._child] if alive else [])]

    def kill_guardian(self) -> None:
        self._guardian.kill()
        until(lambda: self._guardian.status() == psutil.STATUS_ZOMBIE)

    def stop_guardian(self, number: signal.Signals) -> None:
        self._guardian.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def end(self) -> None:
        """Removes what a failed test has left."""
        self.kill()
        with contextlib.suppress(psutil.NoSuchProcess):
            self._child.kill()
        self.segment.unlink(missing_ok=True)


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.end()


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_service_that_is_killed_leaves_nothing(service: Service):
    assert len(service.left) == 3
    service.kill()
    until(lambda: not service.left)


def test_what_a_killed_service_and_guardian_left_goes_with_the_next_start(service: Service):
    service.kill_guardian()
    service.kill()
    assert len(service.left) == 3
    run = RunFolder.open()
    until(lambda: not service.left)
    run.close()


def test_a_live_run_is_never_swept(service: Service):
    service.kill_guardian()
    runs = [RunFolder.open() for _ in range(3)]
    for run in runs:
        # A guardian looks for what was left before it ends.
        run.close()
    assert not any(run.path.exists() for run in runs)
    assert len(service.left) == 3


def test_a_folder_is_the_users_alone_and_goes_in_order(base: Path):
    run = RunFolder.open()
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
    assert run.address == f"unix:{run.path}/grpc:1"
    (run.path / "models" / "asr").mkdir(parents=True)
    run.close()
    run.close()
    assert list(base.iterdir()) == []


def test_a_stop_of_the_whole_group_leaves_the_guardian_until_the_service_has_ended(service: Service):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        service.stop_guardian(number)
    service.kill()
    until(lambda: not service.left)


def test_a_long_name_of_the_folder_for_temporary_files_is_gone_round(base: Path, monkeypatch: pytest.MonkeyPatch):
    long = base / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr(run_folder.tempfile, "tempdir", str(long))
    run = RunFolder.open()
    assert run.path.parent == Path("/tmp")
    assert len(os.fsencode(f"{run.socket}:{run.port}")) <= 107
    run.close()


def test_a_folder_that_cannot_be_made_is_named(base: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_folder.tempfile, "tempdir", str(base / "gone"))
    with pytest.raises(OSError, match=rf"no folder for Triton can be made \({base}/gone: No such file or directory\)"):
        RunFolder.open()


def test_segments_are_closed_to_others_and_nothing_else_is(tmp_path: Path):
    segment, link, target = tmp_path / "segment", tmp_path / "link", tmp_path / "target"
    for file in (segment, target):
        file.touch(0o644)
    link.symlink_to(target)
    for path in (segment, link, tmp_path / "gone"):
        close_to_others(path)
    assert stat.S_IMODE(segment.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
