"""Work in processes of their own: none of them outlives the benchmark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from benchmarks import processes
from benchmarks.processes import ProcessesError, in_processes, meet, meeting

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Barrier

PROGRAM = """
import signal
# Who started the tests may ignore it, as shells do for what they put into the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
from benchmarks.processes import in_processes
from lab.tests.unit.benchmarks.test_processes import wait_for_a_signal
in_processes(wait_for_a_signal, [(), ()])
"""


def wait_for_a_signal() -> None:
    os.write(1, b"at work\n")
    signal.pause()


def double(number: int, more: int) -> int:
    return 2 * number + more


def fail_or_wait(fails) -> None:
    if fails:
        raise ValueError("it cannot be done")
    wait_for_a_signal()


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def scheduling_policy() -> int:
    return os.sched_getscheduler(0)


def arrive(delay: float, ready: Barrier) -> float:
    time.sleep(delay)
    meet(ready)
    return time.monotonic()


def test_work_begins_when_all_have_come_up():
    with meeting(2) as ready:
        first, second = in_processes(arrive, [(0.0, ready), (1.0, ready)])
    assert abs(first - second) < 0.5


def test_who_waits_for_nobody_is_told(monkeypatch):
    monkeypatch.setattr(processes, "_START_SECONDS", 0.05)
    with meeting(2) as ready, pytest.raises(ProcessesError, match=r"did not come up within 0\.05 s"):
        meet(ready)


def test_what_came_of_each_share_is_returned_in_order():
    assert in_processes(double, [(1, 0), (2, 5)]) == [2, 9]


def test_all_processes_have_real_time_priority_where_it_was_taken():
    code = """
import os
from benchmarks import processes
from service.processes.scheduling import RealTimeRefusedError, run_in_real_time
from lab.tests.unit.benchmarks.test_processes import scheduling_policy
try:
    run_in_real_time()
except RealTimeRefusedError as error:
    print(error)
else:
    print(set(processes.in_processes(scheduling_policy, [(), ()])) == {os.SCHED_RR})
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    if "no real-time priority" in done.stdout:
        pytest.skip("this process may not have real-time priority")
    assert done.stdout == "True\n"


def test_an_error_ends_the_others():
    with pytest.raises(ValueError, match="it cannot be done"):
        in_processes(fail_or_wait, [(False,), (True,)])


def test_a_process_that_is_killed_is_told():
    with pytest.raises(ProcessesError, match=r"ended before .* was done: try again"):
        in_processes(be_killed, [()])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_when_the_benchmark_is_ended_nothing_of_it_is_left(number: signal.Signals):
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"at work\n"] * 2
        process.send_signal(number)
        # Every process of it holds the pipe, which ends with the last of them.
        process.communicate(timeout=5)
    assert process.returncode


def test_a_server_does_not_outlive_who_started_it(tmp_path: Path):
    server = "import os, signal; print('listening on', os.getpid(), flush=True); signal.pause()"
    program = f"""
from pathlib import Path
from service.processes.child_process import listening
with listening(["-c", {server!r}], Path({str(tmp_path / "log")!r})) as (process, address):
    print(address, flush=True)
    process.wait()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        left = psutil.Process(int(process.stdout.readline()))
        process.kill()
    left.wait(5)


def test_ctrl_c_while_the_processes_start_shows_no_trace_of_theirs():
    with subprocess.Popen(
        [sys.executable, "-c", f"print(flush=True){PROGRAM}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["\n", "at work\n"]
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=5)
    assert said.count("KeyboardInterrupt") == 1
    assert "SpawnProcess" not in said
