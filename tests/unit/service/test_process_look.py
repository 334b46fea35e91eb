"""Which processes of a Triton can work no more, seen with real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from service.triton.process_look import ProcessWatch, SeenProcess, look

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
    return [watch.ailing(AWAKE | changed, ["asr", "qa"]) for changed in seen]


def test_what_works_is_left_alone():
    assert ailing({}, {ASR: SeenProcess("R", "asr")}, {ASR: SeenProcess("D", "asr")}, {}) == [None] * 4


def test_a_process_that_has_ended_is_named_though_it_has_no_name_any_more():
    ended = {ASR: SeenProcess("Z", None)}
    assert ailing({}, ended, ended) == [None, None, "the process of the model asr has ended"]


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
        until(server.pid, {server.pid: SeenProcess("S", "tritonserver"), stub: SeenProcess("S", "qa_bert.2")})
        os.kill(stub, signal.SIGSTOP)
        until(server.pid, {server.pid: SeenProcess("S", "tritonserver"), stub: SeenProcess("T", "qa_bert.2")})
        os.kill(stub, signal.SIGKILL)
        until(server.pid, {server.pid: SeenProcess("S", "tritonserver"), stub: SeenProcess("Z", None)})
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate()
    until(server.pid, {})


def until(group: int, expected: dict[int, SeenProcess]) -> None:
    ends = time.monotonic() + 20
    while (found := look(group)) != expected:
        assert time.monotonic() < ends, found
        time.sleep(0.01)
