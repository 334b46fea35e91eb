"""What the commands do with what they are told, and with what they have measured; no service is started."""

from __future__ import annotations

import contextlib
import json
import os

import pytest
from click.testing import CliRunner

from benchmarks.alternatives import __main__ as comparison
from benchmarks.alternatives import measuring, overload
from benchmarks.alternatives.measuring import Load
from benchmarks.alternatives.variants import Served
from benchmarks.sla.caller import Record
from benchmarks.sla.load import LoadResult
from benchmarks.triton.study import __main__ as study

HELD = Record(reply=[0.1], turn=[0.15], overhead=[0.01], statuses={"COMPLETE": 1}, utterances=1)
COMMANDS = {
    comparison: ["--minutes", "1", "--seconds", "5", "--budget-ms", "500"],
    overload: ["--capacity", "4", "--seconds", "5", "--budget-ms", "500"],
}


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Budgets that callers asked for, of services that exist by name alone."""
    asked: list[float] = []

    def run_load(_, scripts, reply_budget_seconds):
        asked.append(reply_budget_seconds)
        late = HELD if len(scripts) < 8 else Record(reply=[9.0], turn=[9.0], utterances=1)
        return LoadResult([late] * len(scripts), 5.0, 0.1)

    @contextlib.contextmanager
    def running(variants, _):
        yield [Served(variant.name, "nowhere", os.getpid(), variant.keeps_budget) for variant in variants]

    monkeypatch.setattr(measuring, "run_load", run_load)
    for command in COMMANDS:
        monkeypatch.setattr(command, "running", running)
    return asked


def test_the_budget_reaches_those_who_keep_one(budgets: list[float]):
    load = Load(comparison.read_items(comparison.DEMONSTRATION), 5.0, 500.0)
    for keeps_budget in (True, False):
        load.measure(Served("ours", "nowhere", os.getpid(), keeps_budget), 1)
    assert budgets == [0.5, 20.0]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_measured_is_shown_before_it_is_kept(command, budgets: list[float], tmp_path, monkeypatch):
    def keep(*_):
        raise OSError("the disk is full")

    file = tmp_path / "found.json"
    monkeypatch.setattr(command, "keep", keep)
    found = CliRunner().invoke(command.main, [*COMMANDS[command], "--json", str(file)])
    assert isinstance(found.exception, OSError)
    assert "| ours |" in found.stdout or "| 3 x 4 |" in found.stdout
    assert 0.5 in budgets


@pytest.mark.parametrize("command", [*COMMANDS, study])
def test_a_file_that_cannot_be_written_is_told_before_the_measurement(command, tmp_path):
    found = CliRunner().invoke(command.main, ["--json", str(tmp_path / "missing" / "found.json")])
    assert found.exit_code == 2
    assert f"there is no folder {tmp_path / 'missing'}" in found.output


def test_the_study_shows_its_tables_before_it_keeps_them(tmp_path, monkeypatch):
    async def measured(_):
        return []

    monkeypatch.setattr(study, "_study", measured)
    monkeypatch.setattr(study, "tables", lambda _: "the tables")
    found = CliRunner().invoke(study.main, ["--json", str(tmp_path / "found.json")])
    assert found.stdout == "the tables\n"
    assert json.loads((tmp_path / "found.json").read_text())["points"] == []
