from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.alternatives.searching import fill_in, search_all
from tests.unit.benchmarks.alternatives.reports import report


class Machine:
    """Services that carry so many streams each, and a clock of loads."""

    def __init__(self, limits: dict[str, int], loads: int = 1000) -> None:
        self.limits, self.left = limits, loads
        self.asked: list[tuple[str, int]] = []

    def measure(self, name: str, streams: int) -> dict:
        self.asked.append((name, streams))
        self.left -= 1
        return report(streams, 0.5 if streams > self.limits[name] else 0.1)

    def has_time(self) -> bool:
        return self.left > 0


def search(machine: Machine) -> dict:
    return search_all(list(machine.limits), machine.measure, 300, machine.has_time)


@pytest.mark.parametrize("limits", [{"fast": 40, "slow": 11}, {"fast": 7, "slow": 0}])
def test_each_gets_its_own_capacity(limits):
    found = search(Machine(limits))
    for name, limit in limits.items():
        assert limit - max(1, limit // 8) <= found[name].best <= limit
        assert found[name].streams is None


def test_the_searches_take_turns():
    machine = Machine({"fast": 40, "slow": 11})
    search(machine)
    names = [name for name, _ in machine.asked]
    both = 2 * min(Counter(names).values())
    assert names[:both] == ["fast", "slow"] * (both // 2)


def test_a_search_without_time_keeps_what_it_has():
    found = search(Machine({"fast": 40, "slow": 3}, loads=4))
    assert [one["streams"] for one in found["fast"].reports] == [4, 8]
    assert (found["fast"].best, found["fast"].streams) == (8, 16)
    assert found["slow"].best == 0


def test_what_was_measured_is_not_measured_again():
    machine = Machine({"fast": 40, "slow": 3})
    reports = {"fast": [report(4, 0.1), report(8, 0.1)], "slow": [report(4, 0.5)]}
    fill_in(reports, [4, 8, 16], machine.measure, machine.has_time)
    assert machine.asked == [("slow", 8), ("fast", 16), ("slow", 16)]
    assert [one["streams"] for one in reports["slow"]] == [4, 8, 16]


def test_filling_in_ends_with_the_time():
    machine = Machine({"fast": 40, "slow": 3}, loads=1)
    reports = {"fast": [report(4, 0.1)], "slow": []}
    fill_in(reports, [4, 8], machine.measure, machine.has_time)
    assert machine.asked == [("slow", 4)]
