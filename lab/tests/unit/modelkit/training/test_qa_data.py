"""Questions before training: what is held out, and the windows in which answers are looked for."""

from __future__ import annotations

import random

import pytest

from engines.bert.tokenizing import DocumentTokenizer
from lab.tests.unit.modelkit.training.small_data import write_squad
from modelkit.errors import DataError
from modelkit.squad import Question
from modelkit.training.qa_data import gather
from modelkit.training.qa_windows import label, make_windows


def test_a_test_set_on_the_same_paragraphs_is_refused(tmp_path):
    data, test = write_squad(tmp_path / "train.json"), write_squad(tmp_path / "test.json", 2, "v1.1")
    with pytest.raises(DataError, match=r"4 of the 4 questions of .*test\.json are put to paragraphs of the training"):
        gather([data], test=test, validation=0.2)


def test_too_little_to_split_is_refused(tmp_path):
    with pytest.raises(DataError, match="2 questions on 1 paragraphs are too few"):
        gather([write_squad(tmp_path / "few.json", 1)], test=None, validation=0.2)


def test_windows_point_at_the_answer_or_at_nothing(tiny_base):
    tokenizer = DocumentTokenizer(tiny_base / "tokenizer.json")
    questions = [
        Question("a", "when", "the bridge was built in 12", ((24, "12"),)),
        Question("b", "who", "they lost the map", ()),
    ]
    answerable, empty, wrong = sorted(
        make_windows([*questions, *[questions[1]] * 40], tokenizer, 0.0, random.Random(0))[:2]
        + make_windows(questions, tokenizer, 1.0, random.Random(5))[-1:],
        key=lambda window: -window.end,
    )
    assert tokenizer.encode("when", questions[0].context).offsets[0][answerable.start].tolist() == [24, 26]
    assert (empty.start, empty.end, wrong.start, wrong.end) == (0, 0, 0, 0)


@pytest.mark.parametrize("answer", ["José", "José ", " José", "Jose\u0301", "José\u200b", "\u200b José\u200b \u0301"])
def test_what_no_token_stands_for_at_the_edges_of_an_answer_does_not_hide_it(tiny_base, answer):
    context = f"the song is {answer} of the river"
    tokenizer = DocumentTokenizer(tiny_base / "tokenizer.json")
    question = Question("a", "who", context, ((context.index(answer), answer),))
    (window,) = label(question, tokenizer)
    first, last = tokenizer.encode("who", context).offsets[0][[window.start, window.end]]
    assert context[first[0] : last[1]].rstrip("\u0301") in {"José", "Jose"}


def test_an_answer_across_the_end_of_a_window_is_in_the_windows_that_hold_all_of_it(tiny_base):
    context = " ".join(["river"] * 10 + ["song "] * 3 + ["map"] * 9)
    tokenizer = DocumentTokenizer(tiny_base / "tokenizer.json", window=16, overlap=4, max_question=2)
    question = Question("a", "who", context, ((context.index("song"), "song  song  song "),))
    found = [
        (row, context[offsets[window.start][0] : offsets[window.end][1]])
        for row, (window, offsets) in enumerate(
            zip(label(question, tokenizer), tokenizer.encode("who", context).offsets, strict=True)
        )
        if window.end
    ]
    assert found == [(1, "song  song  song")]


def test_an_answer_that_no_token_stands_for_is_nowhere(tiny_base):
    context = "the song \u200b is"
    question = Question("a", "who", context, ((9, "\u200b"),))
    (window,) = label(question, DocumentTokenizer(tiny_base / "tokenizer.json"))
    assert (window.start, window.end) == (0, 0)
