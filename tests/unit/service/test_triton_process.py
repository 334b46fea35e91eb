"""What a Triton prints is read to its end, whatever it prints. A child of Python's stands for it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from service.triton import process as module
from service.triton.process import TritonProcess
from service.triton.process_look import look
from service.triton.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def run() -> Iterator[RunFolder]:
    folder = RunFolder.open()
    yield folder
    folder.close()


async def printing(code: str, run: RunFolder, directory: Path) -> TritonProcess:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    return TritonProcess(process, run, directory / "triton")


ENDLESS = "import time; time.sleep(60)"
WITH_A_MODEL = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', '{ENDLESS}']); "


async def test_the_end_is_noticed_while_the_process_of_a_model_goes_on(run: RunFolder, tmp_path: Path):
    triton = await printing(WITH_A_MODEL, run, tmp_path)
    async with asyncio.timeout(30):
        assert await triton.wait() == 0
        await triton.stop()


async def test_who_does_not_stop_in_order_is_killed_with_the_processes_of_its_models(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_STOP_GRACE_SECONDS", 0.1)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); "
    triton = await printing(WITH_A_MODEL + deaf + ENDLESS, run, tmp_path)
    async with asyncio.timeout(30):
        while not triton.reason.endswith("ready"):
            await asyncio.sleep(0.01)
        await triton.stop()
        assert await triton.wait() == -signal.SIGKILL


async def test_a_long_line_does_not_stop_the_reading(run: RunFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, logger="vivavoce.triton")
    code = "print('+' * 200_000)\nfor number in range(5_000): print('+', number)\nprint('error: the end', end='')"
    triton = await printing(code, run, tmp_path)
    async with asyncio.timeout(30):
        assert await triton.wait() == 0
        await triton.stop()
    texts = [message for _, _, message in caplog.record_tuples]
    assert texts[1:] == [*(f"+ {number}" for number in range(5_000)), "error: the end"]
    assert set(texts[0]) == {"+"}
    assert 1_000 < len(texts[0]) < 100_000
    assert triton.reason == "error: the end"


WITH_INSTANCES = f"""
import subprocess, sys, time
for name in ('asr_0_0', 'asr_0_0', 'asr_0_1', 'qa_0_0'):
    subprocess.Popen([sys.executable, '-c', '{ENDLESS}', name])
time.sleep(60)
"""


async def test_a_model_is_lost_with_any_of_its_instances_unless_triton_has_another_process_for_that(
    run: RunFolder, tmp_path: Path
):
    triton = await printing(WITH_INSTANCES, run, tmp_path)
    try:
        async with asyncio.timeout(30):
            pids: list[tuple[str, int]] = []
            while len(pids) < 4:
                await triton.ailing(())
                seen = await asyncio.to_thread(look, triton.pid)
                pids = sorted((process.instance, pid) for pid, process in seen.items() if process.instance)
            for _ in range(4):
                await triton.ailing(())
            waiting = asyncio.create_task(triton.lost_model())
            replaced, _, second, other = (pid for _, pid in pids)
            os.kill(replaced, signal.SIGKILL)
            await asyncio.sleep(0.5)
            assert not waiting.done()
            os.kill(second, signal.SIGKILL)
            assert await waiting == "asr"
            waiting = asyncio.create_task(triton.lost_model())
            os.kill(other, signal.SIGKILL)
            assert await waiting == "qa"
    finally:
        triton.kill()
        await triton.stop()


async def test_models_that_end_with_triton_are_not_lost(run: RunFolder, tmp_path: Path):
    triton = await printing(WITH_INSTANCES, run, tmp_path)
    try:
        async with asyncio.timeout(30):
            while len(seen := await asyncio.to_thread(look, triton.pid)) < 5:
                await asyncio.sleep(0.01)
            await triton.ailing(())
            waiting = asyncio.create_task(triton.lost_model())
            for pid in seen:
                os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.5)
            assert not waiting.done()
            waiting.cancel()
    finally:
        await triton.stop()
