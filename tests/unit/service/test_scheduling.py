"""Turns at a core are asked for of the real kernel, and read back from it, in a process that the test alone uses."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from service.processes.scheduling import TURN_SECONDS

CODE = """
import ctypes, json, os, struct, sys, threading
from service.processes import scheduling

def read():
    attributes = ctypes.create_string_buffer(48)
    assert ctypes.CDLL(None).syscall({"x86_64": 315, "aarch64": 275}[os.uname().machine], 0, attributes, 48, 0) == 0
    fields = struct.unpack("=IIQiIQQQ", attributes.raw)
    return {"policy": fields[1], "niceness": fields[3], "turn": fields[5]}

def in_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(read()))
    thread.start()
    thread.join()
    return found[0]

def child():
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        scheduling.run_behind()
        os.write(writing, json.dumps(read()).encode())
        os._exit(0)
    os.waitpid(process, 0)
    return json.loads(os.read(reading, 4096))

how, policy = sys.argv[1:]
if policy != "as it is":
    os.sched_setscheduler(0, int(policy), os.sched_param(0))
before = read()
try:
    # Real time is given or refused by an error, short turns are told by what is returned.
    asked = getattr(scheduling, how)() is not False
except scheduling.RealTimeRefusedError:
    asked = False
print(json.dumps({"asked": asked, "before": before, "thread": in_thread(), "child": child()}))
"""

linux = pytest.mark.skipif(sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}, reason="Linux's")


def asked(how: str = "run_ahead", policy: int | str = "as it is") -> dict[str, dict[str, int]]:
    command = [sys.executable, "-c", CODE, how, str(policy)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


def kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])


@linux
def test_the_service_has_short_turns_in_all_its_threads_and_triton_usual_ones_behind_it():
    found = asked()
    assert found["child"]["niceness"] == min(19, found["before"]["niceness"] + 5)
    if not found["asked"]:
        pytest.skip("this kernel forbids to ask")
    assert found["thread"]["niceness"] == found["before"]["niceness"]
    if kernel() >= (6, 12):
        assert found["thread"]["turn"] == round(TURN_SECONDS * 1e9)
        assert found["child"]["turn"] > found["thread"]["turn"]


@linux
def test_another_policy_is_kept():
    found = asked(policy=os.SCHED_BATCH)
    assert not found["asked"]
    assert found["thread"] == found["before"]
    assert found["before"]["policy"] == os.SCHED_BATCH


@linux
def test_real_time_is_for_the_service_and_all_its_threads_and_not_for_triton():
    found = asked("run_in_real_time")
    if not found["asked"]:
        assert found["thread"] == found["before"]
        pytest.skip("this process may not have real-time priority")
    assert found["thread"]["policy"] == os.SCHED_RR
    assert found["child"]["policy"] == os.SCHED_OTHER
    assert found["child"]["niceness"] == min(19, found["before"]["niceness"] + 5)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not share cores among sessions")
def test_the_session_of_the_models_has_as_much_of_the_cores_as_those_of_other_programs():
    code = (
        "from service.processes import scheduling; scheduling.run_behind(); print(open('/proc/self/autogroup').read())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, start_new_session=True
    )
    assert told.stdout.split()[-2:] == ["nice", "0"]
