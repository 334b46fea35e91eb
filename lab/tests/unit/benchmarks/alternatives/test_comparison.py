"""The comparison of two services: which commands it starts, and its table; no service is started."""

from __future__ import annotations

import contextlib
import itertools
import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from benchmarks.alternatives import __main__ as comparison
from benchmarks.sla.caller import Record
from benchmarks.sla.load import LoadResult

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Reply budgets that callers asked for, of services that exist by name alone."""
    asked: list[float] = []

    def run_load(_, scripts, reply_budget_seconds):
        asked.append(reply_budget_seconds)
        seconds = 0.1 * len(scripts) * (1 if len(asked) % 4 in (1, 0) else 2)
        record = Record(
            reply=[seconds], turn=[seconds], chunk=[0.01], overhead=[0.01], statuses={"COMPLETE": 1}, utterances=1
        )
        return LoadResult([record] * len(scripts), 5.0, 0.1)

    monkeypatch.setattr(comparison, "run_load", run_load)
    monkeypatch.setattr(comparison, "serving", lambda *_: contextlib.nullcontext(("nowhere", os.getpid())))
    seconds = itertools.count()
    monkeypatch.setattr(comparison, "_cpu_seconds", lambda _: next(seconds))
    return asked


def test_both_services_take_turns_and_are_compared_pair_by_pair(budgets: list[float], tmp_path: Path):
    kept = tmp_path / "found.json"
    done = CliRunner().invoke(
        comparison.main,
        ["naive", "--streams", "1", "--streams", "2", "--rounds", "1", "--seconds", "5", "--json", str(kept)],
    )
    assert done.exit_code == 0, done.output
    # The second pair is measured in the other order.
    assert budgets == [0.3, 20.0, 20.0, 0.3]
    assert "| streams | turn p50 ms, this | naive |" in done.output
    assert "reply p95 0.5" in done.output
    assert kept.exists()


@pytest.mark.parametrize(
    ("name", "argument"),
    [("flags-off", "--no-speculation"), ("naive", "benchmarks.alternatives.naive_service")],
)
def test_an_alternative_is_a_command(name: str, argument: str):
    assert argument in comparison.alternative(name).command


def test_a_checkout_needs_an_environment(tmp_path: Path):
    done = CliRunner().invoke(comparison.main, [str(tmp_path)])
    assert done.exit_code == 2
    assert "checkout with a .venv" in done.output
