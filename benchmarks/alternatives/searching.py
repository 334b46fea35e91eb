"""Looks for the capacities of several services at the same time, so that a noisy moment hits all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.sla.capacity import CapacitySearch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.sla.report import Report


def search_all(
    names: Sequence[str],
    measure: Callable[[str, int], Report],
    budget_ms: float,
    has_time: Callable[[], bool],
    start: int = 4,
) -> dict[str, CapacitySearch]:
    """Takes one step of each search in turn, until all are over or there is no more time.

    Args:
        names: of the services.
        measure: runs a load of so many streams on the service of this name.
        budget_ms: what the 95th percentile of the reply latency must keep.
        has_time: whether there is time for one more load.
        start: the first number of streams.
    """
    searches = {name: CapacitySearch(budget_ms, start=start) for name in names}
    while any(search.streams is not None for search in searches.values()):
        for name, search in searches.items():
            if search.streams is None:
                continue
            if not has_time():
                return searches
            search.take(measure(name, search.streams))
    return searches


def fill_in(
    reports: Mapping[str, list[Report]],
    loads: Sequence[int],
    measure: Callable[[str, int], Report],
    has_time: Callable[[], bool],
) -> None:
    """Measures every service at all of ``loads`` at which it was not measured yet, as long as there is time."""
    for streams in loads:
        for name, found in reports.items():
            if all(report["streams"] != streams for report in found):
                if not has_time():
                    return
                found.append(measure(name, streams))
