"""Which processes of a Triton can work no more, seen with real ones."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from service.triton.process_look import ExitWatch, ProcessWatch, SeenProcess, is_alive, look

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")

SERVER, ASR, TRIAL = 10, 11, 12
AWAKE = {
    SERVER: SeenProcess("S", "tritonserver"),
    ASR: SeenProcess("S", "asr"),
    TRIAL: SeenProcess("S", "qa.2"),
    13: SeenProcess("S", None),
}


def ailing(*seen: dict[int, SeenProcess]) -> list[str | None]:
    watch = ProcessWatch()
    found = [watch.ailing(AWAKE | changed, ["asr", "qa"]) for changed in seen]
    return [ailment and ailment.text for ailment in found]


def test_what_works_is_left_alone():
    assert ailing({}, {ASR: SeenProcess("R", "asr")}, {ASR: SeenProcess("D", "asr")}, {}) == [None] * 4


def test_a_process_that_has_ended_is_named_though_it_has_no_name_any_more():
    ended = {ASR: SeenProcess("Z", None)}
    assert ailing({}, ended, ended) == [None, None, "the process of the model asr has ended"]


def test_one_that_ends_before_the_models_are_loaded_does_not_count_yet():
    watch = ProcessWatch()
    ended = AWAKE | {ASR: SeenProcess("Z", None)}
    watch.ailing(AWAKE, ["asr"])
    assert [watch.ailing(ended, ["asr"], are_loaded=False) for _ in range(3)] == [None] * 3
    ailment = watch.ailing(ended, ["asr"])
    assert ailment is not None
    assert ailment.model == "asr"


def test_one_that_is_stopped_before_the_models_are_loaded_is_named():
    watch = ProcessWatch()
    stopped = AWAKE | {ASR: SeenProcess("T", "asr")}
    assert [bool(watch.ailing(stopped, ["asr"], are_loaded=False)) for _ in range(2)] == [False, True]


def test_a_stopped_one_is_named():
    stopped = {ASR: SeenProcess("T", "asr")}
    assert ailing({}, stopped, {}, stopped, stopped)[-1] == "the process of the model asr is stopped"
    assert ailing({}, stopped, {}, stopped) == [None] * 4
    assert ailing({SERVER: SeenProcess("T", "tritonserver")}, {SERVER: SeenProcess("T", "tritonserver")}) == [
        None,
        "Triton is stopped",
    ]


def test_one_that_is_tried_only_and_one_of_which_nothing_is_known_do_not_count():
    others = {TRIAL: SeenProcess("Z", None), 13: SeenProcess("T", None)}
    assert ailing({}, others, others) == [None] * 3


STUB = ("qa_bert.2", "qa_bert.2_0_1")
SERVER_WITH_A_STUB = """
import subprocess, sys
sleep = 'print(flush=True); import time; time.sleep(600)'
stub = subprocess.Popen([sys.executable, '-c', sleep, 'model.py', 'qa_bert.2_0_1'], stdout=subprocess.PIPE)
stub.stdout.readline()
print(stub.pid, flush=True)
sys.stdin.read()
"""


def test_processes_are_found_by_their_group():
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER_WITH_A_STUB],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert server.stdout is not None
        stub = int(server.stdout.readline())
        until(server.pid, {server.pid: SeenProcess("S", "tritonserver"), stub: SeenProcess("S", *STUB)})
        os.kill(stub, signal.SIGSTOP)
        until(server.pid, {server.pid: SeenProcess("S", "tritonserver"), stub: SeenProcess("T", *STUB)})
        os.kill(stub, signal.SIGKILL)
        until(server.pid, {server.pid: SeenProcess("S", "tritonserver"), stub: SeenProcess("Z", None)})
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate()
    until(server.pid, {})


@pytest.fixture
def stub() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


async def test_the_end_of_a_process_is_told_at_once_and_once(stub: subprocess.Popen[bytes]):
    watch = ExitWatch()
    try:
        seen = {stub.pid: SeenProcess("S", "asr"), SERVER: SeenProcess("S", "tritonserver"), 13: SeenProcess("S", None)}
        watch.watch(seen)
        watch.watch(seen)
        assert is_alive(stub.pid)
        await asyncio.sleep(0.05)
        assert watch.ended.empty()
        stub.kill()
        async with asyncio.timeout(10):
            assert await watch.ended.get() == (stub.pid, SeenProcess("S", "asr"))
        assert not is_alive(stub.pid)
        await asyncio.sleep(0.05)
        assert watch.ended.empty()
    finally:
        watch.close()


@pytest.fixture
def waiting(status: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends by itself, with a status, once its input is at its end."""
    code = f"import sys; sys.stdin.read(); sys.exit({status})"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        yield process


@pytest.mark.parametrize(("status", "is_told"), [(0, False), (3, True)])
async def test_an_end_in_order_is_not_told(waiting: subprocess.Popen[bytes], is_told: bool):
    assert waiting.stdin is not None
    watch = ExitWatch()
    try:
        watch.watch({waiting.pid: SeenProcess("S", "asr")})
        waiting.stdin.close()
        async with asyncio.timeout(10):
            while is_alive(waiting.pid):
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert watch.ended.empty() is not is_told
    finally:
        watch.close()


async def test_the_end_of_a_process_that_was_waited_for_is_not_told(stub: subprocess.Popen[bytes]):
    watch = ExitWatch()
    try:
        watch.watch({stub.pid: SeenProcess("S", "asr")})
        stub.kill()
        # As Triton does with one that it has told to end; the event loop does not run meanwhile.
        stub.wait()
        await asyncio.sleep(0.05)
        assert watch.ended.empty()
    finally:
        watch.close()


async def test_nothing_is_told_by_a_watch_that_is_closed(stub: subprocess.Popen[bytes]):
    watch = ExitWatch()
    watch.watch({stub.pid: SeenProcess("S", "asr")})
    watch.close()
    stub.kill()
    stub.wait()
    await asyncio.sleep(0.05)
    assert watch.ended.empty()


def test_one_whose_end_was_told_is_not_told_again():
    watch = ProcessWatch()
    watch.ailing(AWAKE, ["asr"])
    watch.told.add(ASR)
    ended = AWAKE | {ASR: SeenProcess("Z", None)}
    assert [watch.ailing(ended, ["asr"]) for _ in range(3)] == [None] * 3


def until(group: int, expected: dict[int, SeenProcess]) -> None:
    ends = time.monotonic() + 20
    while (found := look(group)) != expected:
        assert time.monotonic() < ends, found
        time.sleep(0.01)
