from __future__ import annotations

from benchmarks.alternatives.pairs import Pair, markdown, measure_pairs, summarize
from benchmarks.alternatives.variants import FLAGS_OFF, OURS
from benchmarks.sla.caller import Record
from benchmarks.sla.load import LoadResult
from benchmarks.sla.report import make_report


def report(streams: int, whole: int, *, late: bool = False) -> dict:
    """A load of a hundred replies, so many of them whole."""
    statuses = {"COMPLETE": whole, "PARTIAL": 100 - whole}
    record = Record(reply=[0.4 if late else 0.1] * 100, statuses=statuses, utterances=100)
    return {**make_report(LoadResult([record], 30.0, 0.1)), "streams": streams, "server_cpu": 1.0}


def test_the_two_of_a_pair_follow_each_other_and_take_turns_at_being_first():
    asked: list[tuple[str, int]] = []

    def measure(name: str, streams: int) -> dict:
        asked.append((name, streams))
        return report(streams, 100)

    pairs = measure_pairs((40, 49), 1.5, 2, measure)
    assert asked[:4] == [(FLAGS_OFF, 40), (OURS, 60), (OURS, 74), (FLAGS_OFF, 49)]
    assert asked[4:] == asked[:4]
    assert [(pair.flags_off["streams"], pair.ours["streams"]) for pair in pairs] == [(40, 60), (49, 74)] * 2


PAIRS = [
    Pair(report(40, 100), report(60, 96)),
    Pair(report(40, 95), report(60, 94)),
    Pair(report(56, 90), report(84, 95)),
    Pair(report(56, 90), report(84, 99, late=True)),
]


def test_pairs_are_counted():
    assert summarize(PAIRS, 300) == {
        "pairs_measured": 4,
        "flags_off_carried": 2,
        "ours_carried": 2,
        "ours_carried_where_flags_off_did": 1,
        "ours_better": 2,
    }


def test_every_pair_has_a_line():
    text = markdown(PAIRS, 1.5, summarize(PAIRS, 300))
    assert "| flags off, streams | p95 ms | whole | ours, 1.5 times as many | p95 ms | whole |" in text
    assert "| 56 | 100.0 | 90 % | 84 | 400.0 | 99 % |" in text
    assert "ours had the greater share of whole replies in 2 of 4 pairs" in text
