"""Callers in processes of their own, as every load has them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from benchmarks.sla import load
from benchmarks.sla.load import run_callers


@dataclass(frozen=True)
class SlowToArrive:
    """What a caller is to do, which takes its process a while to read."""

    number: int
    seconds: float

    def __setstate__(self, state: dict[str, float]) -> None:
        self.__dict__.update(state)
        time.sleep(self.seconds)


async def note_the_time(address: str, script: SlowToArrive) -> tuple[str, int, float]:
    return address, script.number, time.monotonic()


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load.os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_processes")
def test_callers_of_a_process_that_is_late_begin_with_all_others():
    scripts = [SlowToArrive(number, seconds=number % 2 * 0.2) for number in range(13)]
    result = run_callers("there:1", scripts, note_the_time)
    assert [(address, number) for address, number, _ in result.records] == [("there:1", n) for n in range(13)]
    began = [at for _, _, at in result.records]
    assert max(began) - min(began) < 0.5
    assert result.seconds < 0.5
