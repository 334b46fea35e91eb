"""The `vivavoce` command where it cannot do what it is asked: in a sentence, with the right exit status."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import grpc
import numpy as np
import pytest
import soundfile

from tests.unit.clients.fake_service import FakeService, refusing
from vivavoce.cli import run

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


def _assert_one_sentence(capsys: Capture, pattern: str) -> None:
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert re.search(pattern, line), line
    assert line.endswith(".")


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["converse", "nowhere.wav"], r"^There is no file nowhere\.wav; check"),
        (["converse", __file__], "cannot be read as audio .*; choose"),
        (["ask", "hello", "--context-file", "nowhere.txt"], r"nowhere\.txt cannot be read .*; check its name"),
        (["ask", "hello", "--context-file", "/"], "cannot be read"),
    ],
)
def test_work_that_fails_exits_with_1(arguments: list[str], pattern: str, capsys: Capture) -> None:
    assert run(arguments) == 1
    _assert_one_sentence(capsys, pattern)


def test_a_context_file_that_is_not_utf_8(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "latin.txt").write_bytes("Öffnungszeiten".encode("latin-1"))

    assert run(["ask", "hello", "--context-file", str(tmp_path / "latin.txt")]) == 1
    _assert_one_sentence(capsys, r"latin\.txt is not UTF-8 text .*; save it as UTF-8")


def test_text_that_is_not_utf_8(service: FakeService, capsys: Capture) -> None:
    assert run(["ask", os.fsdecode(b"caf\xe9"), "--server", service.address]) == 1
    _assert_one_sentence(capsys, "not valid Unicode; send text that can be encoded as UTF-8")
    assert service.asked == []


def test_a_server_that_is_not_there(free_address: str, recording: Path, capsys: Capture) -> None:
    assert run(["converse", str(recording), "--server", free_address, "--json"]) == 1
    _assert_one_sentence(capsys, f"{free_address}; start one with `vivavoce serve`")


def test_what_the_server_refuses_is_told_in_its_words(service: FakeService, recording: Path, capsys: Capture) -> None:
    service.script = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "The server is full;\n come back later")

    assert run(["converse", str(recording), "--server", service.address]) == 1
    captured = capsys.readouterr()
    assert captured.err == "The server is full; come back later.\n"


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ([], "Missing command"),
        (["sing"], "No such command"),
        (["converse"], "Missing argument"),
        (["ask"], "Missing argument"),
        (["ask", "hello", "--loud"], "No such option"),
        (["ask", "hello", "--server", "localhost"], "HOST:PORT"),
        (["ask", "hello", "--budget-ms", "5"], "20<=x<=60000"),
        (["ask", "hello", "--context", "a", "--context-file", "b"], "not both"),
        (["serve", "--port", "70000"], "0<=x<=65535"),
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], pattern: str, capsys: Capture) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert pattern in captured.err
    assert "--help`" in captured.err
    assert captured.err.count("\n") == 1


def test_version(capsys: Capture) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(r"vivavoce \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("command", ["serve", "converse", "mic", "ask"])
def test_every_command_explains_itself(command: str, capsys: Capture) -> None:
    assert run([command, "--help"]) == 0
    assert f"vivavoce {command}" in capsys.readouterr().out


def test_serve_without_its_packages(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.delitem(sys.modules, "service.main", raising=False)
    monkeypatch.setitem(sys.modules, "grpc_health", None)
    monkeypatch.delitem(sys.modules, "grpc_health.v1", raising=False)

    assert run(["serve"]) == 1
    _assert_one_sentence(capsys, r"needs the package .* `make setup`, or `pip install '\.\[serve\]'`")


def test_bench_where_benchmarks_are_not_installed(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "benchmarks", None)

    assert run(["bench", "sla", "--streams", "1"]) == 1
    _assert_one_sentence(capsys, r"needs benchmarks, which this installation lacks: use a checkout")


def test_interrupting_ends_quietly(service: FakeService, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "long.wav", np.zeros(16_000 * 60), 16_000)
    arguments = ["converse", str(tmp_path / "long.wav"), "--server", service.address]
    with _command(arguments) as process:
        assert service.config_arrived.wait(20)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)

    assert process.returncode == 130
    assert "Traceback" not in err + out
    assert service.ended.wait(5)


def test_a_reader_who_has_seen_enough_is_no_reason_to_complain(service: FakeService, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(16_000), 16_000)
    with _command(["converse", *[str(tmp_path / "a.wav")] * 3, "--server", service.address, "--json"]) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(10) == 1


def _command(arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "vivavoce", *arguments]
    # What a shell runs in the background ignores SIGINT, this suite too perhaps: that is inherited, a handler is not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_hints_file_that_is_missing_is_named(recording: Path, capsys: Capture) -> None:
    assert run(["converse", str(recording), "--hints", "nowhere.txt"]) == 1
    _assert_one_sentence(capsys, "hints file nowhere.txt cannot be read")
