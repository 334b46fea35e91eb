from __future__ import annotations

import json

from benchmarks.sla.load import LoadResult
from benchmarks.speechsquad.asking import Asked
from benchmarks.speechsquad.questions import Ending
from benchmarks.speechsquad.report import make_report, table, within_budget
from modelkit.squad import Question


def question(number: int, answer: str) -> Question:
    return Question(f"q{number}", f"Who wrote number {number}?", f"It was {answer}.", ((7, answer),))


def answered(number: int, text: str, seconds: float, transcript: str | None = None) -> Asked:
    asked = Asked(question(number, "the old queen"), transcript or f"who wrote number {number}", text)
    asked.answer, asked.first_text, asked.reply, asked.replies = seconds, seconds / 2, seconds, 1
    return asked


def report(*streams: list[Asked]) -> dict:
    typed = {f"q{number}": "the old queen" for number in range(9)}
    return make_report(LoadResult(list(streams), 10.0, 0.1), Ending.PUSH_TO_TALK, typed)


def test_spoken_answers_are_scored_beside_typed_ones():
    found = report([answered(1, "the old queen", 0.1)], [answered(2, "queen", 0.2), answered(3, "", 0.3)])
    assert (found["streams"], found["questions"], found["replies"], found["lost"]) == (2, 3, 3, 0)
    assert found["exact_match"] == 0.3333
    assert found["f1"] == round((1 + 2 / 3) / 3, 4)
    assert found["typed_exact_match"] == found["typed_f1"] == 1.0
    assert found["latency_ms"]["answer"]["p50"] == found["latency_ms"]["answer"]["mean"] == 200.0
    assert found["latency_ms"]["first_text"]["max"] == 150.0


def test_words_and_figures_are_the_same_words():
    assert report([answered(4, "", 0.1, "Who wrote number four?")])["wer"] == 0.0
    assert report([answered(4, "", 0.1, "Who wrote number 5")])["wer"] == 0.25


def test_what_is_not_answered_scores_nothing_and_breaks_the_budget():
    refused = Asked(question(2, "the old queen"), error="RESOURCE_EXHAUSTED")
    found = report([answered(1, "the old queen", 0.1), refused])
    assert (found["exact_match"], found["typed_f1"], found["lost"], found["wer"]) == (0.5, 1.0, 1, 0.0)
    assert found["errors"] == {"RESOURCE_EXHAUSTED": 1}
    assert not within_budget(found, 300)


def test_the_budget_is_that_of_the_95th_percentile():
    kept = [answered(1, "", 0.29)] * 19 + [answered(1, "", 5.0)]
    assert within_budget(report(kept), 530)
    assert not within_budget(report(kept), 300)


def test_nothing_asked_and_nothing_answered_can_be_told():
    assert report([])["f1"] is None
    lost = report([Asked(question(1, "x"), error="UNAVAILABLE")])
    assert (lost["latency_ms"]["answer"], lost["wer"], lost["speculated"]) == ({"n": 0}, None, None)
    assert "| - |" in table([lost])


def test_the_table_has_a_row_a_load_and_the_report_can_be_written():
    found = report([answered(1, "the old queen", 0.1234)])
    lines = table([found, found]).splitlines()
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    assert "| push-to-talk | 1 | 1 | 123 |" in lines[2]
    json.dumps(found)
