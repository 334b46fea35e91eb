"""Reports of loads that were never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.sla.caller import Record
from benchmarks.sla.load import LoadResult
from benchmarks.sla.report import make_report

if TYPE_CHECKING:
    from benchmarks.sla.report import Report


def report(streams: int, seconds: float, *, said: str = "a b c d", whole: bool = True) -> Report:
    """A load in which all of 20 replies took so many seconds."""
    status = "COMPLETE" if whole else "PARTIAL"
    record = Record(
        reference="a b c d",
        transcript=said,
        reply=[seconds] * 20,
        overhead=[0.004] * 20,
        statuses={status: 20},
        answers=[("the queen", "the queen")],
        utterances=20,
    )
    return {**make_report(LoadResult([record], 30.0, 0.1)), "streams": streams, "server_cpu": 1.5}
