"""Callers in processes of their own, as every load has them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from benchmarks.sla import load
from benchmarks.sla.load import run_callers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


@dataclass(frozen=True)
class SlowToArrive:
    """What a caller is to do, which takes its process a while to read, and another to prepare."""

    number: int
    seconds: float = 0.0
    preparing_seconds: float = 0.0

    def __setstate__(self, state: dict[str, float]) -> None:
        self.__dict__.update(state)
        time.sleep(self.seconds)


def prepare_to_note_the_time(
    address: str, script: SlowToArrive
) -> Callable[[], Coroutine[None, None, tuple[str, int, float]]]:
    time.sleep(script.preparing_seconds)

    async def note_the_time() -> tuple[str, int, float]:
        return address, script.number, time.monotonic()

    return note_the_time


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load.os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_processes")
def test_callers_of_a_process_that_is_late_begin_with_all_others():
    scripts = [SlowToArrive(number, seconds=number % 2 * 0.2) for number in range(13)]
    result = run_callers("there:1", scripts, prepare_to_note_the_time)
    assert [(address, number) for address, number, _ in result.records] == [("there:1", n) for n in range(13)]
    began = [at for _, _, at in result.records]
    assert max(began) - min(began) < 0.5
    assert result.seconds < 0.5


@pytest.mark.usefixtures("two_processes")
def test_callers_begin_once_all_are_prepared():
    scripts = [SlowToArrive(number, preparing_seconds=0.1) for number in range(26)]
    result = run_callers("there:1", scripts, prepare_to_note_the_time)
    began = [at for _, _, at in result.records]
    assert max(began) - min(began) < 0.5
    assert result.seconds < 0.5
