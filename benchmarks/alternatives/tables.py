"""What a comparison says, as numbers and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.markdown import table
from benchmarks.sla.report import CARRIED
from vivavoce import ReplyStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.sla.report import Report

SAME_WER = 0.005
"""Services with the same model are compared only if their word error rates are as near as this."""
_PERCENTILES = ("p50", "p95", "p99")
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one service.

    Attributes:
        capacity: most streams that it carried, 0 where it did not even carry one.
        finished: whether the search had time to come to its end.
        reports: of every load.
    """

    capacity: int
    finished: bool
    reports: list[Report] = field(default_factory=list)

    def at(self, streams: int) -> Report | None:
        """Returns the best report of a load of so many streams: what a service can do when nobody disturbs it."""
        of_that_load = [report for report in self.reports if report["streams"] == streams]
        return min(of_that_load, key=_badness, default=None)


def _badness(report: Report) -> tuple[bool, float]:
    """Orders reports of one load, the best first: a latency says little where replies are not whole."""
    return whole_share(report) < CARRIED, _reply(report).get("p95", float("inf"))


def common_load(found: Mapping[str, Found]) -> int | None:
    """Returns the largest number of streams that all services were measured with and one of them carried."""
    measured = [{int(str(report["streams"])) for report in one.reports} for one in found.values()]
    carried = max(one.capacity for one in found.values())
    return max((streams for streams in set.intersection(*measured) if streams <= carried), default=None)


def summarize(found: Mapping[str, Found], reference: str) -> dict[str, object]:
    """Gives the numbers that the tables are made of.

    Args:
        found: of every service, by name.
        reference: the service whose capacity is divided by those of the others.

    Returns:
        ``capacity`` and ``finished`` by name; the ``reference``; ``times``, by name, how many times as many streams the
        reference carries (None where that service carries none); ``common_load``; ``wer`` by name at that load and
        whether it is ``same_wer`` (None where it is not known of all).
    """
    load = common_load(found)
    at_load = {name: one.at(load) if load else None for name, one in found.items()}
    wers = {name: report["wer"] if report else None for name, report in at_load.items()}
    known = [float(str(wer)) for wer in wers.values() if wer is not None]
    capacity = {name: one.capacity for name, one in found.items()}
    return {
        "capacity": capacity,
        "finished": {name: one.finished for name, one in found.items()},
        "reference": reference,
        "times": {
            name: round(capacity[reference] / streams, 2) if streams else None
            for name, streams in capacity.items()
            if name != reference
        },
        "common_load": load,
        "wer": wers,
        "same_wer": max(known) - min(known) <= SAME_WER if len(known) == len(found) else None,
    }


def markdown(found: Mapping[str, Found], summary: Mapping[str, Any]) -> str:
    """Writes both tables, and what they come to."""
    load = summary["common_load"]
    heads = ["", "capacity", "p50 / p95 / p99 ms there"]
    heads += [f"the same at {load}", "whole replies", "WER", "answer F1", "errors", "cores"] if load else []
    rows = []
    for name, one in found.items():
        capacity = f"{one.capacity}{'' if one.finished else ' at least'}"
        cells = [name, capacity, _latencies(one.at(one.capacity))]
        rows.append(cells + (_at_load(one.at(load)) if load else []))
    return "\n\n".join((table(heads, rows), _by_load(found), _conclusion(found, summary))) + "\n"


def _at_load(report: Report | None) -> list[str]:
    if report is None:
        return [_NONE] * 6
    errors = report["errors"]
    assert isinstance(errors, dict)
    told = ", ".join(f"{count} {code}" for code, count in errors.items()) or "0"
    return [
        _latencies(report),
        f"{100 * whole_share(report):.0f} %",
        _NONE if report["wer"] is None else f"{100 * float(str(report['wer'])):.1f} %",
        _NONE if report["answer_f1"] is None else f"{100 * float(str(report['answer_f1'])):.0f} %",
        told,
        str(report["server_cpu"]),
    ]


def _by_load(found: Mapping[str, Found]) -> str:
    loads = sorted({int(str(report["streams"])) for one in found.values() for report in one.reports})
    rows = [[str(load), *(_p95(one.at(load)) for one in found.values())] for load in loads]
    return table(["streams, p95 ms", *found], rows)


def _conclusion(found: Mapping[str, Found], summary: Mapping[str, Any]) -> str:
    lines = []
    for name, times in summary["times"].items():
        told = "conversations, and" if times is None else f"{times:g} times as many conversations as"
        lines.append(f"{summary['reference']} carries {told} {name}{' none' if times is None else ''}.")
    if summary["same_wer"] is None:
        lines.append("There was no load that all were measured with: the word error rates cannot be compared.")
    elif not summary["same_wer"]:
        lines.append(f"The word error rates differ by more than {100 * SAME_WER:g} points: compare with care.")
    if not all(one.finished for one in found.values()):
        lines.append("A search was cut short by --minutes: its capacity is what was carried until then.")
    return "\n".join(f"- {line}" for line in lines)


def _latencies(report: Report | None) -> str:
    if report is None or not _reply(report)["n"]:
        return _NONE
    return " / ".join(f"{_reply(report)[name]:.0f}" for name in _PERCENTILES)


def _p95(report: Report | None) -> str:
    """Tells the 95th percentile, with the share of whole replies where that is too small."""
    if report is None or not _reply(report)["n"]:
        return _NONE
    whole = whole_share(report)
    return f"{_reply(report)['p95']:.0f}{'' if whole >= CARRIED else f' ({100 * whole:.0f} % whole)'}"


def _reply(report: Report) -> dict[str, float]:
    return latencies_of(report)["reply"]


def latencies_of(report: Report) -> dict[str, dict[str, float]]:
    """Returns the percentiles of a report, by what is timed."""
    latency = report["latency_ms"]
    assert isinstance(latency, dict)
    return latency


def whole_share(report: Report) -> float:
    """Returns the share of the replies in which no stage is missing, 0 to 1."""
    statuses, replies = report["statuses"], report["replies"]
    assert isinstance(statuses, dict)
    assert isinstance(replies, int)
    complete: int = statuses.get(ReplyStatus.COMPLETE.value, 0)
    return complete / max(1, replies)
