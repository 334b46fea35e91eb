"""A search that goes on where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.tuning.journal import Journal, OtherSearchError
from benchmarks.tuning.search import Search
from benchmarks.tuning.space import DEFAULT
from lab.tests.unit.benchmarks.tuning.fakes import INTERVAL, MOVES, FakeMachine

if TYPE_CHECKING:
    from pathlib import Path

CONDITIONS = {"machine": "2 x one", "budget_ms": 300.0}


class Interrupted(FakeMachine):
    def __call__(self, candidate, streams, seconds, *, unseen=False):
        if len(self.asked) == 7:
            raise KeyboardInterrupt
        return super().__call__(candidate, streams, seconds, unseen=unseen)


def run(machine: FakeMachine, path: Path):
    return Search(MOVES, Journal(path, CONDITIONS, machine), 3600.0, 20.0).run()


def test_a_search_goes_on_where_it_was_interrupted(tmp_path: Path):
    factors = {INTERVAL: 1.5}
    whole = FakeMachine(factors=factors)
    wanted = run(whole, tmp_path / "whole.log")
    first, second = Interrupted(factors=factors), FakeMachine(factors=factors)
    with pytest.raises(KeyboardInterrupt):
        run(first, tmp_path / "log")
    found = run(second, tmp_path / "log")
    assert found == wanted
    assert first.asked + second.asked == whole.asked


def test_a_search_that_is_over_measures_nothing_again(tmp_path: Path):
    wanted = run(FakeMachine(), tmp_path / "log")
    again = FakeMachine()
    assert run(again, tmp_path / "log") == wanted
    assert again.asked == []


def test_a_torn_line_is_measured_again(tmp_path: Path):
    path = tmp_path / "log"
    Journal(path, CONDITIONS, FakeMachine())(DEFAULT, 8, 20.0)
    with path.open("a") as file:
        file.write('{"candidate": "def')
    told: list[bool] = []
    journal = Journal(path, CONDITIONS, FakeMachine(), lambda *outcome: told.append(outcome[-1]))
    assert journal(DEFAULT, 8, 20.0) == journal(DEFAULT, 8, 20.0)
    assert told == [True, False]
    assert len(path.read_text().splitlines()) == 3


def test_a_search_under_other_conditions_is_refused(tmp_path: Path):
    Journal(tmp_path / "log", CONDITIONS, FakeMachine())
    with pytest.raises(OtherSearchError, match=r"budget_ms was 300\.0, and is 200\.0.*--fresh"):
        Journal(tmp_path / "log", CONDITIONS | {"budget_ms": 200.0}, FakeMachine())


@pytest.mark.parametrize("text", ["no JSON\n", "{}\n", '{"conditions": {}}\n{"candidate": "default"}\n', "\n"])
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, text: str):
    (tmp_path / "log").write_text(text)
    with pytest.raises(OtherSearchError, match="is no log of `vivavoce tune`"):
        Journal(tmp_path / "log", {}, FakeMachine())
