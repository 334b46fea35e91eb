"""What a load of conversations says of a candidate, and which of two outcomes is the better one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.sla.report import within_budget
from vivavoce import ReplyStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.sla.report import Report
    from benchmarks.tuning.space import Candidate

NEVER_MS = 1e6
"""Stands for the latency of a candidate that does not come up, or answers nothing."""
_SAME_SHARE = 0.02
_SAME_WER = 0.005
"""Half a point: less is noise."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one load.

    Attributes:
        carried: no error, nothing lost, and 95 of 100 replies complete and within the budget.
        missed: share of the utterances whose reply did not come, or came without some of its stages.
        p50_ms: reply latency, median.
        p95_ms: its 95th percentile.
        wer: word error rate; None where nothing was said, or no conversation was held to its end.
        answer_f1: F1 of the answers; None where nothing was asked.
        took_seconds: how long the measurement took, the start of the service included.
        complaint: why the candidate did not come up; empty where it did.
        memory_mb: memory of the service with its models, in MiB, what they share counted once.
        fits: whether that is within the bound.
    """

    carried: bool
    missed: float
    p50_ms: float
    p95_ms: float
    wer: float | None
    answer_f1: float | None
    took_seconds: float
    complaint: str = ""
    memory_mb: float = 0.0
    fits: bool = True

    @property
    def holds(self) -> bool:
        """Whether both bounds are kept."""
        return self.carried and self.fits

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Orders outcomes under the same load, the best first: the bound of memory, missed replies, latency."""
        return not self.fits, round(self.missed / _SAME_SHARE), self.p95_ms


class Measured(NamedTuple):
    """A candidate under a load of so many conversations, and what came of it."""

    candidate: Candidate
    streams: int
    outcome: Outcome


def outcome_of(
    report: Report, budget_ms: float, took_seconds: float, memory_mb: float = 0.0, bound_mb: float | None = None
) -> Outcome:
    """Sums up what a load says; see :func:`benchmarks.sla.report.make_report`."""
    latency, statuses, errors = report["latency_ms"], report["statuses"], report["errors"]
    assert isinstance(latency, dict)
    assert isinstance(statuses, dict)
    assert isinstance(errors, dict)
    # Of a conversation that ended with an error the report counts what was replied to. What it still would have said is
    # lost: count it as one utterance.
    wanted = int(str(report["utterances"])) + sum(errors.values())
    complete = statuses.get(ReplyStatus.COMPLETE.value, 0)
    wer, answer_f1 = report["wer"], report["answer_f1"]
    return Outcome(
        within_budget(report, budget_ms),
        round(max(0.0, 1 - complete / wanted), 4) if wanted else 1.0,
        latency["reply"].get("p50", NEVER_MS),
        latency["reply"].get("p95", NEVER_MS),
        wer if isinstance(wer, float) else None,
        answer_f1 if isinstance(answer_f1, float) else None,
        round(took_seconds, 1),
        memory_mb=round(memory_mb),
        fits=bound_mb is None or memory_mb <= bound_mb,
    )


def failed(complaint: str, took_seconds: float) -> Outcome:
    """The outcome of a candidate that did not come up."""
    return Outcome(False, 1.0, NEVER_MS, NEVER_MS, None, None, round(took_seconds, 1), complaint, fits=False)


def is_better(mine: Outcome, other: Outcome) -> bool:
    """Whether one outcome beats another under the same load without understanding worse, or holding nobody."""
    if other.wer is not None and (mine.wer is None or mine.wer > other.wer + _SAME_WER):
        return False
    return mine.rank < other.rank


def pareto_front(points: Iterable[Measured]) -> list[Measured]:
    """Picks the loads that were carried within both bounds and that no other beats in conversations and p95."""
    carried = sorted((p for p in points if p.outcome.holds), key=lambda p: (-p.streams, p.outcome.p95_ms))
    front: list[Measured] = []
    for point in carried:
        if not front or (point.outcome.p95_ms < front[-1].outcome.p95_ms and point.streams < front[-1].streams):
            front.append(point)
    return front


def held(points: Sequence[Measured], candidate: Candidate) -> int:
    """Returns the most conversations that a candidate carried; 0 where it carried none."""
    return max((p.streams for p in points if p.candidate == candidate and p.outcome.holds), default=0)
