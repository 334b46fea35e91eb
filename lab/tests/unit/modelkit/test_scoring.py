from __future__ import annotations

import pytest

from engines.bert.intent_decoding import Understanding
from engines.bert.slots import Slot
from modelkit.nlu import Utterance
from modelkit.scoring import answer_f1, exact_match, intent_accuracy, normalize_answer, slot_f1

A, B = Slot("date", 0, 3), Slot("time", 4, 8)


def test_answers_are_compared_as_squad_does():
    assert normalize_answer("The  Cat's, an (old) hat!") == "cats old hat"
    assert exact_match("the Broncos.", ["x", "Broncos"]) == 1.0
    assert exact_match("Denver Broncos", ["Broncos"]) == 0.0


@pytest.mark.parametrize(
    ("answer", "references", "f1"),
    [
        ("Denver Broncos", ["Broncos"], 2 / 3),
        ("Denver Broncos", ["Broncos", "the Denver Broncos"], 1.0),
        ("cat cat", ["cat dog"], 0.5),
        ("red", ["blue"], 0.0),
        ("", ["blue"], 0.0),
        ("", [], 1.0),
        ("red", [], 0.0),
    ],
)
def test_answer_f1(answer, references, f1):
    assert answer_f1(answer, references) == pytest.approx(f1)


def test_a_slot_counts_only_when_name_and_both_ends_agree():
    score = slot_f1([[A, B], [A], []], [[A, Slot("time", 4, 7)], [Slot("time", 0, 3)], [B]])
    assert (score.precision, score.recall) == (1 / 4, 1 / 3)
    assert score.f1 == pytest.approx(2 / 7)


def test_a_slot_said_twice_counts_once():
    assert slot_f1([[A]], [[A, A]]).precision == 0.5


def test_nothing_to_find_and_nothing_found_is_right():
    assert slot_f1([[]], [[]]).f1 == 1.0
    assert slot_f1([[A]], [[]]).f1 == 0.0


def test_none_is_a_wrong_intent():
    expected = [Utterance("a", "x", ()), Utterance("b", "y", ())]
    assert intent_accuracy(expected, [Understanding("x", 0.9, ()), Understanding("none", 0.1, ())]) == 0.5


def test_sets_of_different_size_are_refused():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        slot_f1([[A], [B]], [[A]])
