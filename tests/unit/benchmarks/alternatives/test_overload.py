from __future__ import annotations

import json

from benchmarks.alternatives.overload import BEYOND, HALF, MOST, judge, markdown
from benchmarks.sla.caller import Record
from benchmarks.sla.load import LoadResult
from benchmarks.sla.report import make_report


def load(*records: Record) -> dict:
    return {**make_report(LoadResult(list(records), 30.0, 0.1)), "server_cpu": 1.0}


def held(*seconds: float, overhead: float = 0.006) -> Record:
    overheads = [overhead] * len(seconds)
    turns = [0.05 + latency for latency in seconds]
    statuses = {"COMPLETE": len(seconds)}
    return Record(reply=list(seconds), turn=turns, overhead=overheads, statuses=statuses, utterances=len(seconds))


def refused(seconds: float) -> Record:
    return Record(error="RESOURCE_EXHAUSTED", refusal=seconds)


KEPT = {HALF: load(held(0.01)), MOST: load(held(0.01, 0.012)), BEYOND: load(held(0.2), refused(0.01), refused(0.03))}


def test_promises_that_are_kept():
    judged = judge(KEPT, 300)
    assert all(one["kept"] for one in judged.values())
    assert [one["measured"] for one in judged.values()] == [1.09, 1.02, 6.0, 200.0, 29.0, 30.0]
    json.dumps(judged)


def test_promises_that_are_broken():
    broken = {
        HALF: load(held(0.1, overhead=0.02)),
        MOST: load(held(*[0.01] * 50, 0.2)),
        BEYOND: load(held(0.31), refused(0.06)),
    }
    assert not any(one["kept"] for one in judge(broken, 300).values())


def test_what_was_not_measured_is_neither_kept_nor_broken():
    nobody_refused = {**KEPT, BEYOND: load(held(0.2))}
    judged = judge(nobody_refused, 300)
    assert [one["kept"] for one in judged.values()] == [True, True, True, True, None, None]
    assert "| refusals at 3 times capacity, max ms | None | <= 50.0 | - |" in markdown(8, nobody_refused, judged)


def test_the_loads_stand_below():
    text = markdown(8, KEPT, judge(KEPT, 300))
    assert "| 3 x 8 | 3 | 200.0 / 200.0 / 200.0 | 100 % | {'RESOURCE_EXHAUSTED': 2} | 0 | 1.0 | 0.1 |" in text
