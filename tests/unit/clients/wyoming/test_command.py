"""`vivavoce wyoming` as a process."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from wyoming.asr import Transcript
from wyoming.client import AsyncTcpClient
from wyoming.handle import Handled

from service.processes.child_process import listening
from tests.unit.clients.fake_service import FakeService, make_answer, make_reply
from tests.unit.clients.wyoming.conftest import PATIENCE_SECONDS
from tests.unit.clients.wyoming.events import hear, say
from vivavoce.cli import run

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = ["-m", "vivavoce", "wyoming"]


async def test_the_command_serves_until_it_is_told_to_stop(service: FakeService, tmp_path: Path) -> None:
    service.answer = lambda request, _: make_reply(transcript=request.text, answer=make_answer())
    document = tmp_path / "museum.txt"
    document.write_text("The museum opens at nine.")
    arguments = ["--uri", "tcp://127.0.0.1:0", "--server", service.address, "--context-file", str(document)]

    with listening([*COMMAND, *arguments], tmp_path / "log.txt") as (process, uri):
        async with AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as home:
            await say(home, Transcript("when does it open"))
            assert (await hear(home, Handled)).text == "at nine"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 0

    [asked] = service.asked
    assert [document.id for document in asked.documents] == ["museum.txt"]
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        uri = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, *COMMAND, "--uri", uri]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert uri in line


@pytest.mark.parametrize("uri", ["10300", "tcp://0.0.0.0"])
def test_a_wrong_address_is_wrong_usage(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["wyoming", "--uri", uri]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "tcp://HOST:PORT" in captured.err


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith("vivavoce.wyoming")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "wyoming.asr", None)
    monkeypatch.setitem(sys.modules, "wyoming", None)

    assert run(["wyoming"]) == 1
    assert "pip install './clients[wyoming]'" in capsys.readouterr().err
