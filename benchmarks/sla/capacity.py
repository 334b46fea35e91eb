"""Looks for the most streams that a service carries within the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.sla.report import Report, within_budget

if TYPE_CHECKING:
    from collections.abc import Callable


def find_capacity(
    measure: Callable[[int], Report], budget_ms: float, *, start: int = 4, most: int = 1024
) -> tuple[int, list[Report]]:
    """Doubles the number of streams until the budget breaks, then halves the gap to one part in eight.

    A number that fails is tried a second time before it counts: on a shared machine, one bad moment is not a limit.

    Args:
        measure: runs a load of so many streams.
        budget_ms: what the 95th percentile of the reply latency must keep.
        start: the first number tried.
        most: the last.

    Returns:
        The largest number that was carried (0 where even one was not), and every report.
    """
    reports: list[Report] = []

    def carried(streams: int) -> bool:
        for _ in range(2):
            reports.append(measure(streams))
            if within_budget(reports[-1], budget_ms):
                return True
        return False

    good, streams = 0, start
    while streams <= most and carried(streams):
        good, streams = streams, streams * 2
    bad = min(streams, most + 1)
    while bad - good > max(1, good // 8):
        middle = (good + bad) // 2
        if carried(middle):
            good = middle
        else:
            bad = middle
    return good, reports
