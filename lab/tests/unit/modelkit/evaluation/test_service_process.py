from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from modelkit.errors import EngineError
from modelkit.evaluation import service_process
from modelkit.evaluation.service_process import running_service

SERVES = """
import os, signal, sys
print("noise")
print("listening on", *sys.argv[1:], os.getpid(), flush=True)
signal.pause()
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + SERVES


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize(("code", "patience"), [(SERVES, 30.0), (STUBBORN, 0.2)])
async def test_a_service_runs_with_the_engines_and_is_stopped(tmp_path, monkeypatch, code, patience):
    monkeypatch.setattr(service_process, "STOP_SECONDS", patience)
    async with running_service([tmp_path / "a", tmp_path / "b"], python(code)) as said:
        *arguments, pid = said.split()
        assert arguments == ["--engine", str(tmp_path / "a"), "--engine", str(tmp_path / "b")]
        assert psutil.pid_exists(int(pid))
    assert not psutil.pid_exists(int(pid))


async def test_it_is_stopped_when_the_evaluation_fails(tmp_path):
    with pytest.raises(LookupError):
        async with running_service([tmp_path], python(SERVES)) as said:
            raise LookupError(said)
    assert not psutil.pid_exists(int(said.split()[-1]))


async def test_what_it_said_is_told_when_it_fails_an_item(tmp_path):
    code = "import sys; print('out of memory', file=sys.stderr, flush=True)" + SERVES
    with pytest.raises(EngineError, match=r"^it failed: out of memory$"):
        async with running_service([tmp_path], python(code)):
            raise EngineError("it failed")


async def test_what_a_service_said_that_did_not_come_up_is_told(tmp_path):
    with pytest.raises(EngineError, match=r"did not come up with --engine .*: no such model$"):
        async with running_service([tmp_path], python("import sys; sys.exit('no such model')")):
            pytest.fail("it came up")


def test_it_does_not_outlive_an_evaluation_that_is_killed(tmp_path):
    script = tmp_path / "evaluation.py"
    script.write_text(
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from modelkit.evaluation.service_process import running_service\n"
        "async def main():\n"
        "    async with running_service([Path('x')], (sys.executable, '-c', sys.argv[1])) as said:\n"
        "        print(said, flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, str(script), SERVES], stdout=subprocess.PIPE, text=True) as evaluation:
        service = psutil.Process(int(evaluation.stdout.readline().split()[-1]))
        evaluation.kill()
    psutil.wait_procs([service], timeout=10)
    assert not service.is_running()
