from __future__ import annotations

import pytest

from benchmarks.gpu import cores


def test_cores_grow_with_what_a_turn_asks_for():
    assert cores.cores(25.0, 2.0, 256) == pytest.approx(256 / 8 * 2 * 0.025)


def test_the_first_call_does_not_count(monkeypatch):
    times = iter([0.0, 0.001, 0.001, 0.004, 0.004, 0.006])
    monkeypatch.setattr(cores.time, "process_time", lambda: next(times))
    worked = []
    assert cores.core_ms(worked.append, [1, 2, 3]) == pytest.approx(2.0)
    assert worked == [1, 1, 2, 3]
