from __future__ import annotations

import json

from benchmarks.alternatives.tables import Found, common_load, markdown, summarize
from tests.unit.benchmarks.alternatives.reports import report

FOUND = {
    "ours": Found(16, True, [report(4, 0.01), report(8, 0.02), report(16, 0.1), report(32, 0.4)]),
    "other": Found(4, True, [report(4, 0.2), report(4, 0.1), report(8, 0.9), report(32, 1.5)]),
    "none": Found(0, True, [report(4, 0.29, whole=False), report(8, 0.7)]),
}


def test_capacities_are_compared():
    summary = summarize(FOUND, "ours")
    assert summary["times"] == {"other": 4.0, "none": None}
    assert summary["same_wer"]
    json.dumps(summary)


def test_the_common_load_is_one_that_somebody_carries():
    assert common_load(FOUND) == 8
    assert common_load({"ours": FOUND["ours"], "other": FOUND["other"]}) == 8
    assert common_load({"none": FOUND["none"]}) is None


def test_of_two_loads_the_one_with_whole_replies_counts():
    found = Found(4, True, [report(4, 0.2, whole=False), report(4, 0.25), report(4, 0.3)])
    at_four = found.at(4)
    assert at_four is not None
    assert at_four["latency_ms"]["reply"]["p95"] == 250.0


def test_of_two_loads_the_undisturbed_one_counts():
    at_four = FOUND["other"].at(4)
    assert at_four is not None
    assert at_four["latency_ms"]["reply"]["p95"] == 100.0
    assert FOUND["other"].at(16) is None


def test_other_words_are_no_comparison():
    found = {"ours": FOUND["ours"], "deaf": Found(8, True, [report(8, 0.1, said="a b c x")])}
    summary = summarize(found, "ours")
    assert summary["wer"] == {"ours": 0.0, "deaf": 0.25}
    assert not summary["same_wer"]
    assert "word error rates differ" in markdown(found, summary)


def test_the_tables_have_a_line_for_each():
    text = markdown(FOUND, summarize(FOUND, "ours"))
    assert "| ours | 16 | 100 / 100 / 100 | 20 / 20 / 20 | 100 % | 0.0 % | 100 % | 0 | 1.5 |" in text
    assert "| other | 4 | 100 / 100 / 100 |" in text
    assert "| none | 0 | - |" in text
    assert "| 4 | 10 | 100 | 290 (0 % whole) |" in text
    assert "| 16 | 100 | - | - |" in text
    assert "ours carries 4 times as many conversations as other." in text
    assert "ours carries conversations, and none none." in text
    assert "cut short" not in text


def test_a_search_that_was_cut_short_says_so():
    found = {"ours": Found(4, False, [report(4, 0.1)])}
    assert "4 at least" in markdown(found, summarize(found, "ours"))
    assert "cut short" in markdown(found, summarize(found, "ours"))


def test_nothing_carried_is_told_too():
    found = {"ours": Found(0, False, []), "other": Found(0, False, [])}
    summary = summarize(found, "ours")
    assert (summary["common_load"], summary["same_wer"]) == (None, None)
    assert "| ours | 0 at least | - |" in markdown(found, summary)
    assert "cannot be compared" in markdown(found, summary)
