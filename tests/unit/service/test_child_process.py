"""A server as a child process."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from service.processes.child_process import (
    StartError,
    address_of,
    ask_to_stop,
    listening,
    start,
    stop,
    wait_for_address,
)
from tests.unit.service.harness import Harness
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SAYS = """
import signal, sys
sys.stdout.write("loading\\nlistening on 127.0.0.1:7\\nmetrics on 127.0.0.1:8\\n")
sys.stdout.flush()
signal.pause()
"""
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN){SAYS}"
SILENT = "import signal; print('listen', end='', flush=True); signal.pause()"


def started(code: str, log: Path) -> subprocess.Popen[str]:
    with log.open("wb") as file:
        return start([sys.executable, "-c", code], file)


def test_a_server_is_known_by_its_address_and_what_follows_can_be_read(tmp_path: Path):
    with listening(["-c", SAYS], tmp_path / "log") as (process, address):
        assert address == "127.0.0.1:7"
        assert process.stdout is not None
        assert process.stdout.readline() == "metrics on 127.0.0.1:8\n"
    assert process.returncode == -15
    assert not psutil.pid_exists(process.pid)


def test_one_that_does_not_come_up_tells_the_end_of_its_log(tmp_path: Path):
    said = "import sys; print('noise'); sys.exit('x' * 5000 + ' no such model')"
    with (
        pytest.raises(StartError, match=r"^-c .* did not come up:\nx{10,} no such model\n$") as raised,
        listening(["-c", said], tmp_path / "log"),
    ):
        pytest.fail("it came up")
    assert len(str(raised.value)) < 4_200


async def test_one_that_says_nothing_is_not_waited_for_for_ever(tmp_path: Path):
    process = started(SILENT, tmp_path / "log")
    try:
        assert wait_for_address(process, 0.1) is None
        assert await address_of(process, 0.1) is None
    finally:
        stop(process)


async def test_others_run_while_one_waits_and_who_waits_can_be_interrupted(tmp_path: Path):
    process = started(SILENT, tmp_path / "log")
    try:
        waiting = asyncio.create_task(address_of(process))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    finally:
        stop(process)


def test_a_child_that_keeps_the_output_open_does_not_hide_that_its_parent_has_ended(tmp_path: Path):
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(5)'])"
    process = started(code, tmp_path / "log")
    try:
        assert wait_for_address(process, 4) is None
        assert process.returncode == 0
    finally:
        stop(process)


def test_one_that_does_not_stop_in_time_is_killed(tmp_path: Path):
    process = started(STUBBORN, tmp_path / "log")
    assert wait_for_address(process) == "127.0.0.1:7"
    assert not ask_to_stop(process, 0.1)
    assert stop(process, 0.1) == -9
    assert stop(process) == -9


async def test_children_come_up_beside_calls_that_are_under_way(tmp_path: Path):
    async with Harness.running() as harness:

        async def ask_on() -> None:
            while True:
                await harness.stub.Ask(pb.AskRequest(text="hello"))

        asking = asyncio.create_task(ask_on())
        statuses = []
        for _ in range(25):
            process = started("pass", tmp_path / "log")
            await asyncio.to_thread(process.communicate)
            statuses.append(process.returncode)
        asking.cancel()
    assert statuses == [0] * 25
