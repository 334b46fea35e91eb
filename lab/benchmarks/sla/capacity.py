"""Looks for the most streams that a service carries within the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.sla.report import Report, within_budget

if TYPE_CHECKING:
    from collections.abc import Callable

_TRIES = 2


class CapacitySearch:
    """Doubles the number of streams until the budget breaks, then halves the gap to one part in eight.

    A number that fails is tried a second time before it counts: on a shared machine, one bad moment is not a limit.

    Args:
        budget_ms: what the 95th percentile of the reply latency must keep.
        start: the first number tried.
        most: the last.

    Attributes:
        best: the largest number that was carried so far, 0 where none was.
        streams: the number to measure next; None when the search is over.
        reports: of every load.
    """

    def __init__(self, budget_ms: float, *, start: int = 4, most: int = 1024) -> None:
        self.best = 0
        self.streams: int | None = start
        self.reports: list[Report] = []
        self._budget_ms = budget_ms
        self._most = most
        self._failed: int | None = None
        self._tries = 0

    def take(self, report: Report) -> None:
        """Takes in the report of a load of :attr:`streams`, and chooses the next number."""
        assert self.streams is not None
        self.reports.append(report)
        self._tries += 1
        if within_budget(report, self._budget_ms):
            self.best = self.streams
        elif self._tries < _TRIES:
            return
        else:
            self._failed = self.streams
        self._tries = 0
        self.streams = self._next()

    def _next(self) -> int | None:
        if self._failed is None and self.best * 2 <= self._most:
            return self.best * 2
        failed = self._failed or self._most + 1
        return (self.best + failed) // 2 if failed - self.best > max(1, self.best // 8) else None


def find_capacity(
    measure: Callable[[int], Report], budget_ms: float, *, start: int = 4, most: int = 1024
) -> tuple[int, list[Report]]:
    """Searches with one service; see :class:`CapacitySearch`.

    Args:
        measure: runs a load of so many streams.
        budget_ms: what the 95th percentile of the reply latency must keep.
        start: the first number tried.
        most: the last.

    Returns:
        The largest number that was carried (0 where even one was not), and every report.
    """
    search = CapacitySearch(budget_ms, start=start, most=most)
    while search.streams is not None:
        search.take(measure(search.streams))
    return search.best, search.reports
