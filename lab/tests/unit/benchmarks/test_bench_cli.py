"""`vivavoce bench` where nothing can be measured: nobody answers, or the command asks for what cannot be."""

from __future__ import annotations

import importlib.util
import json
import os
from typing import TYPE_CHECKING

import pytest

from benchmarks.processes import ProcessesError
from benchmarks.sla import load
from benchmarks.sla.caller import Record
from vivavoce import cli

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_a_load_that_nobody_answers_has_failed(
    free_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "loads.csv"
    arguments = ("--server", free_address, "--streams", "2", "--seconds", "5", "--json", "--csv", str(file))
    assert cli.run(["bench", "sla", *arguments]) == 1
    out = capsys.readouterr()
    assert json.loads(out.out)["replies"] == 0
    assert f"No reply came from {free_address}: ServerUnavailable (2 times)." in out.err
    assert len(file.read_text().splitlines()) == 2


def test_callers_that_fail_leave_what_was_measured_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_load(_address: str, scripts: Sequence[object], _budget: float) -> load.LoadResult[Record]:
        if len(scripts) > 2:
            raise ProcessesError("a process was killed: try again")
        return load.LoadResult([Record(reply=[0.1], utterances=1, statuses={"COMPLETE": 1})], 5.0, 0.1)

    monkeypatch.setattr(load, "run_load", run_load)
    csv_file, plot_file = tmp_path / "loads.csv", tmp_path / "loads.png"
    arguments = ("--server", "there:1", "--seconds", "5", "--json", "--csv", str(csv_file), "--plot", str(plot_file))
    assert cli.run(["bench", "sla", *arguments, "--streams", "2", "--streams", "3", "--streams", "1"]) == 1
    out = capsys.readouterr()
    assert out.err == "a process was killed: try again.\n"
    assert json.loads(out.out)["replies"] == 1
    assert len(csv_file.read_text().splitlines()) == 2
    assert plot_file.exists()

    csv_file.unlink()
    assert cli.run(["bench", "sla", *arguments, "--streams", "3"]) == 1
    assert not csv_file.exists(), "nothing was measured"


@pytest.mark.parametrize("numbers", ["1:2:3:4", "8:1", "1:4:0", "0,1", "many"])
def test_numbers_that_are_none_are_wrong_usage(numbers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", "triton", "asr", "--triton", "localhost:1", "--concurrency", numbers]) == 2
    assert f"'{numbers}' is no list of numbers; write 4, or 1,2,8, or START:END:STEP" in capsys.readouterr().err


def test_no_batch_size_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", "triton", "asr", "--triton", "localhost:1", "--batch-size", ""]) == 2
    assert "'--batch-size': '' is no list of numbers" in capsys.readouterr().err


def test_inputs_from_a_file_have_no_other_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.jsonl").write_text("{}\n")
    arguments = ["asr", "--triton", "localhost:1", "--input", str(tmp_path / "in.jsonl"), "--shape", "AUDIO:6400"]
    assert cli.run(["bench", "triton", *arguments]) == 2
    assert "either --input or --shape" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--csv", "--plot"])
@pytest.mark.parametrize("command", [("sla", "--server"), ("triton", "qa_bert", "--triton")])
def test_a_file_that_cannot_be_written_is_told_before_the_measurement(
    option: str, command: tuple[str, ...], free_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path, tmp_path / "missing" / "file"):
        assert cli.run(["bench", *command, free_address, option, str(path)]) == 2
        assert str(path.parent if path.name == "file" else path) in capsys.readouterr().err


def test_an_installation_without_benchmarks_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "benchmarks" else find(name))

    assert cli.run(["bench", "sla", "--streams", "1"]) == 1
    assert "`vivavoce bench` needs benchmarks, which this installation lacks: use a checkout" in capsys.readouterr().err
    assert cli.run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert "serve" in listed
    assert "bench" not in listed
    assert "tune" not in listed


def test_real_time_priority_that_is_not_to_be_had_is_told_before_the_measurement(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert cli.run(["bench", "sla", "--server", "there:1", "--real-time", "--json"]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith("the system gives no real-time priority: grant CAP_SYS_NICE")
