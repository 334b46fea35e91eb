"""The client without asyncio in processes that fork, are interrupted, or end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.clients.fake_service import FakeService

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def _program(service: FakeService, body: str) -> subprocess.Popen[str]:
    text = f"import os, sys, time, vivavoce, vivavoce.sync\naddress = {service.address!r}\n{body}"
    return subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )


@FORKS
def test_a_child_connects_that_was_forked_before_the_first_call(service: FakeService) -> None:
    body = """
client = vivavoce.sync.connect(address)
child = os.fork()
with client:
    print(client.ask("parent" if child else "child").transcript, flush=True)
if child:
    os.waitpid(child, 0)
"""
    output, errors = _program(service, body).communicate(timeout=30)
    assert sorted(output.splitlines()) == ["child", "parent"], errors


@FORKS
def test_a_child_that_was_forked_later_is_told_at_once_and_the_parent_goes_on(service: FakeService) -> None:
    body = """
with vivavoce.sync.connect(address) as client:
    client.ask("hello")
    child = os.fork()
    if not child:
        for work in (lambda: client.ask("hello"), lambda: vivavoce.sync.connect(address).__enter__()):
            try:
                work()
            except RuntimeError as error:
                print(error, flush=True)
        sys.exit(0)
    os.waitpid(child, 0)
    print(client.ask("parent").transcript, flush=True)
"""
    output, errors = _program(service, body).communicate(timeout=30)
    *told, last = output.splitlines()
    assert len(told) == 2, errors
    assert all("connect for the first time after the fork" in line for line in told)
    assert last == "parent"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("waiting", ["next(conversation)", "while True: conversation.send(bytes(3200))"])
def test_an_interrupt_ends_a_wait(service: FakeService, waiting: str) -> None:
    body = f"""
with vivavoce.sync.connect(address) as client:
    conversation = client.converse()
    next(conversation)
    print("waiting", flush=True)
    {waiting}
"""
    program = _program(service, body)
    assert program.stdout is not None
    assert program.stdout.readline() == "waiting\n"
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=10)

    assert "KeyboardInterrupt" in errors
    assert program.returncode in {-signal.SIGINT, 130}


def test_a_program_that_forgets_to_close_ends_all_the_same(service: FakeService) -> None:
    body = """
client = vivavoce.sync.connect(address).__enter__()
conversation = client.converse(iter(lambda: time.sleep(0.01) or bytes(3200), None))
next(conversation)
print("done", flush=True)
"""
    output, errors = _program(service, body).communicate(timeout=10)
    assert (output, errors) == ("done\n", "")
