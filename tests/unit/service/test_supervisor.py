"""When a Triton that ends by itself is started again, in virtual time."""

import asyncio
import errno
import itertools
import os
import tempfile
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from service.triton import process, supervisor
from service.triton.process import TritonProcess
from service.triton.process_look import Ailment
from service.triton.supervisor import TritonGaveUpError, TritonSupervisor
from tests import virtual_time

ASR_IS_STOPPED = Ailment("the process of the model asr is stopped", "asr")


class Ending:
    """Ends at once, complaining."""

    reason = "out of memory"

    async def wait(self) -> int:
        return 1

    async def stop(self) -> None:
        pass

    async def ailing(self, _: object, *, are_loaded: bool = True) -> Ailment | None:
        return None

    async def lost_model(self) -> str:
        return await asyncio.get_running_loop().create_future()


class Starts:
    """Starts what ends at once, and counts that; the ``broken`` ones of the attempts the system refuses."""

    def __init__(self, broken: tuple[int, ...] = ()) -> None:
        self.count = 0
        self._broken = broken

    async def __call__(self, *_: object, **__: object) -> Ending:
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
        kept = TritonSupervisor(tmp_path, Mock())
        with pytest.raises(TritonGaveUpError, match=rf"{message}(.|\n)*out of memory"):
            await kept.run(tuple, on_lost)
        assert start.count == starts
        assert kept.restarts == starts - 1

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

        async def start(*_: object, **__: object) -> Running:
            process = Running()
            await started.put(process)
            return process

        async def on_lost() -> bool:
            return True

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        kept = TritonSupervisor(tmp_path, Mock())
        kept.restart("it hangs")
        running = asyncio.create_task(kept.run(tuple, on_lost))
        first = await started.get()
        kept.restart("it hangs")
        kept.restart("it hangs")
        second = await started.get()
        await asyncio.sleep(60)
        assert first.killed.is_set()
        assert not second.killed.is_set(), "the one that was asked twice is started again once"
        assert started.empty()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

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


class Hanging(Ending):
    """Runs until it is killed."""

    def __init__(self, verdict: Ailment | None = None) -> None:
        self.killed = asyncio.Event()
        self._verdict = verdict

    async def wait(self) -> int:
        await self.killed.wait()
        return -9

    async def ailing(self, _: object, *, are_loaded: bool = True) -> Ailment | None:
        return self._verdict

    def kill(self) -> None:
        self.killed.set()


def test_a_start_that_comes_to_nothing_is_ended_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def main() -> None:
        started: list[float] = []

        async def start(*_: object, **__: object) -> Hanging:
            started.append(asyncio.get_running_loop().time())
            return Hanging()

        async def on_lost() -> bool:
            return False

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        with pytest.raises(TritonGaveUpError, match=r"ended 6 times in a row.*did not come to serve within 120 s"):
            await TritonSupervisor(tmp_path, Mock()).run(tuple, on_lost, lambda: False)
        assert len(started) == 6
        pauses = [after - before for before, after in itertools.pairwise(started)]
        assert all(120 <= pause < 130 for pause in pauses)

    virtual_time.run(main())


def test_what_serves_is_left_alone_however_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def main() -> None:
        running = Hanging()

        async def start(*_: object, **__: object) -> Hanging:
            return running

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        watching = asyncio.create_task(TritonSupervisor(tmp_path, Mock()).run(tuple, AsyncMock(), lambda: True))
        await asyncio.sleep(100_000)
        assert not running.killed.is_set()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    virtual_time.run(main())


@pytest.mark.parametrize("serves", [True, False])
def test_a_triton_with_a_process_that_can_work_no_more_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serves: bool
):
    async def main() -> None:
        loop = asyncio.get_running_loop()
        started: list[float] = []

        async def start(*_: object, **__: object) -> Hanging:
            started.append(loop.time())
            return Hanging(None if len(started) == 2 else ASR_IS_STOPPED)

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        kept = TritonSupervisor(tmp_path, Mock())
        running = asyncio.create_task(kept.run(lambda: ["asr"], AsyncMock(return_value=True), lambda: serves))
        await asyncio.sleep(15)
        assert len(started) == 2
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    virtual_time.run(main())


def test_models_in_python_have_a_process_and_ensembles_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor, "check_startable", Mock())
    for name in ("qa_bert/1/model.py", "qa/1/.keep"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    kept = TritonSupervisor(tmp_path, Mock())
    assert kept.has_process("qa_bert")
    assert not kept.has_process("qa")
