from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from modelkit.evaluation.outcome import Case, Evaluation, share, spread, write_errors
from modelkit.evaluation.report import show

CASES = (Case("a", "x", "x", 1.0), Case("b", "x", "y", 0.5), Case("c", ["x"], {"got": None}, -0.5))


def test_json_is_one_object_with_the_agreed_keys():
    evaluation = Evaluation("asr", 3, {"wer": 0.25, "parts": {"ä": {"f1": 1.0}}}, 1.23456, CASES)
    line = evaluation.to_json()
    assert "\n" not in line
    assert line.isascii(), "whatever the encoding of stdout"
    assert json.loads(line) == {
        "task": "asr", "n": 3, "scores": {"wer": 0.25, "parts": {"ä": {"f1": 1.0}}}, "seconds": 1.235,
    }  # fmt: skip


def test_errors_are_written_the_worst_first_and_what_was_right_is_not(tmp_path):
    path = tmp_path / "new" / "errors.jsonl"
    assert write_errors(path, CASES) == 2
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"name": "c", "reference": ["x"], "got": {"got": None}, "score": -0.5},
        {"name": "b", "reference": "x", "got": "y", "score": 0.5},
    ]
    assert [entry.name for entry in path.parent.iterdir()] == ["errors.jsonl"]


@pytest.mark.parametrize(
    ("limit", "taken"),
    [(None, list(range(10))), (10, list(range(10))), (99, list(range(10))), (3, [0, 3, 6]), (1, [0])],
)
def test_a_limit_takes_items_from_everywhere(limit, taken):
    assert spread(range(10), limit) == taken


def test_a_share_of_nothing_is_0():
    assert (share(1, 3), share(0, 0)) == (0.3333, 0.0)


def test_tables_show_shares_in_percent_counts_as_they_are_and_parts_below():
    console = Console(width=80, file=io.StringIO())
    scores = {
        "wer": 0.125,
        "words": 12,
        "unknown": None,
        "slots": {"size": {"wrong": 3}},
        "worst": [{"intent": "x"}],
        "no": [],
    }
    show(console, Evaluation("asr", 3, scores, 1.0, ()))
    text = console.file.getvalue()
    for expected in ("asr: 3 judged in 1.0 s", "12.5%", "12", "unknown", "slots", "wrong", "worst", "intent"):
        assert expected in text
