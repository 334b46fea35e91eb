"""When a Triton that ends by itself is started again, in virtual time."""

import asyncio
import errno
import os
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from service.triton import process, supervisor
from service.triton.process import TritonProcess
from service.triton.supervisor import TritonGaveUpError, TritonSupervisor
from tests import virtual_time


class Ending:
    """Ends at once, complaining."""

    reason = "out of memory"

    async def wait(self) -> int:
        return 1

    async def stop(self) -> None:
        pass


class Starts:
    """Starts what ends at once, and counts that; the ``broken`` ones of the attempts the system refuses."""

    def __init__(self, broken: tuple[int, ...] = ()) -> None:
        self.count = 0
        self._broken = broken

    async def __call__(self, *_: object) -> Ending:
        self.count += 1
        if self.count in self._broken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return Ending()


@pytest.mark.parametrize(
    ("served", "starts", "message"), [(False, 1, "could not start"), (True, 6, "ended 6 times in a row")]
)
def test_who_has_served_is_started_again_a_few_times(
    served: bool, starts: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def main() -> None:
        start = Starts()

        async def on_lost() -> bool:
            return served and start.count == 1

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        with pytest.raises(TritonGaveUpError, match=rf"{message}(.|\n)*out of memory"):
            await TritonSupervisor(tmp_path, Mock()).run(tuple, on_lost)
        assert start.count == starts

    virtual_time.run(main())


def test_who_cannot_do_his_work_any_more_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Running(Ending):
        def __init__(self) -> None:
            self.killed = asyncio.Event()

        async def wait(self) -> int:
            await self.killed.wait()
            return -9

        def kill(self) -> None:
            self.killed.set()

    async def main() -> None:
        started: asyncio.Queue[Running] = asyncio.Queue()

        async def start(*_: object) -> Running:
            process = Running()
            await started.put(process)
            return process

        async def on_lost() -> bool:
            return True

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        kept = TritonSupervisor(tmp_path, Mock())
        kept.restart()
        running = asyncio.create_task(kept.run(tuple, on_lost))
        first = await started.get()
        kept.restart()
        kept.restart()
        second = await started.get()
        await asyncio.sleep(60)
        assert first.killed.is_set()
        assert not second.killed.is_set(), "the one that was asked twice is started again once"
        assert started.empty()
        running.cancel()

    virtual_time.run(main())


@pytest.mark.parametrize(("broken", "starts", "message"), [((2,), 6, "out of memory"), ((1,), 1, "No space left")])
def test_a_start_that_the_system_refuses_counts_as_one_that_failed(
    broken: tuple[int, ...], starts: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def main() -> None:
        start = Starts(broken)

        async def on_lost() -> bool:
            return start.count == 1

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        with pytest.raises(TritonGaveUpError, match=rf"(.|\n)*{message}"):
            await TritonSupervisor(tmp_path, Mock()).run(tuple, on_lost)
        assert start.count == starts

    virtual_time.run(main())


def test_a_start_that_fails_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    monkeypatch.setattr(process.TritonInstallation, "lay_out_backends", lambda *_: None)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        asyncio.run(TritonProcess.start(tmp_path))
    assert list(tmp_path.iterdir()) == []
