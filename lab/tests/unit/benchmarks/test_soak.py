"""The soak: its arithmetic."""

from __future__ import annotations

from benchmarks.soak import Look, summary


def test_the_end_is_set_beside_the_beginning_without_the_warm_up():
    looks = [Look(50.0, 500.0, 20, 9)] * 2 + [Look(100.0, 600.0, 30, 10)] * 4 + [Look(101.0, 600.0, 31, 10)] * 4
    assert summary(looks) == {
        "service_mib_by_minute": [100.0],
        "service_mib": {"before": 100.0, "after": 101.0, "change_percent": 1.0},
        "models_mib": {"before": 600.0, "after": 600.0, "change_percent": 0.0},
        "files": {"before": 30.0, "after": 31.0, "change_percent": 3.33},
        "threads": {"before": 10.0, "after": 10.0, "change_percent": 0.0},
    }
