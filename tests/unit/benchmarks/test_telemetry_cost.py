"""The measurement of what telemetry costs: its arithmetic."""

from __future__ import annotations

from benchmarks.telemetry_cost import summary


def test_the_cost_is_told_as_a_share_of_a_core_and_relatively():
    assert summary(9.0, 9.9, 180.0) == {
        "off_core_percent": 5.0,
        "on_core_percent": 5.5,
        "more_core_percent": 0.5,
        "more_relative_percent": 10.0,
    }
