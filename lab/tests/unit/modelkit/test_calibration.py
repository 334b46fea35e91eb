from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from engines.bert.span_decoding import Candidate
from modelkit import calibrate_qa
from modelkit.calibrate_qa import Judged, Outputs, calibrate, choose_length_penalty, fit_logistic, pair_wrongly
from modelkit.calibration import choose_temperature, choose_threshold
from modelkit.errors import DataError
from modelkit.squad import Question


def test_the_temperature_undoes_overconfidence():
    rng = np.random.default_rng(0)
    honest = rng.normal(size=(4000, 5)) * 2
    shares = np.exp(honest) / np.exp(honest).sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(5, p=row) for row in shares])
    assert choose_temperature(honest * 3, truth) == pytest.approx(3.0, rel=0.1)


def test_the_threshold_costs_what_is_allowed_and_no_more():
    confidence = np.linspace(0.5, 1.0, 1000, endpoint=False)
    logits = np.stack([np.log(confidence), np.log(1 - confidence)], axis=1)
    threshold = choose_threshold(logits, np.zeros(1000, np.int64), allowed_loss=0.02)
    assert (confidence < threshold - 1e-9).sum() == 20


def test_wrong_rows_cost_nothing():
    confidence = np.linspace(0.6, 0.9, 100)
    logits = np.stack([np.log(confidence), np.log(1 - confidence)], axis=1)
    truth = np.array([1] * 50 + [0] * 50)
    assert choose_threshold(logits, truth, allowed_loss=0.0) == pytest.approx(confidence[50])


def test_logistic_regression_finds_the_weights():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(20_000, 2))
    chance = 1 / (1 + np.exp(-(0.5 + 1.5 * features[:, 0] - 0.7 * features[:, 1])))
    assert fit_logistic(features, rng.random(20_000) < chance) == pytest.approx((0.5, 1.5, -0.7), abs=0.08)


def test_the_answering_threshold_separates_right_from_unanswerable():
    span = Candidate(0, 1, 0.0, 0.0)
    judged = [Judged(span, 1.0, 1.0, answerable=True)] * 50 + [Judged(span, 0.0, 0.0, answerable=False)] * 50
    threshold = calibrate_qa.choose_threshold(np.array([0.7] * 50 + [0.3] * 50), judged)
    assert 0.3 < threshold <= 0.7


@pytest.mark.parametrize(("answer", "penalty"), [("the old bridge", 0.0), ("bridge", 0.06)], ids=["long", "short"])
def test_the_length_penalty_is_the_least_that_gives_the_answers_of_people(answer, penalty):
    context = "the old bridge"
    question = Question("q", "what", context, ((context.index(answer), answer),))
    offsets = np.array([[(-1, -1), (0, 3), (4, 7), (8, 14)]])
    start, end = (np.array([logits], np.float32) for logits in ([0, 5.1, 0, 5], [0, 0, 0, 5]))
    outputs = Outputs(question, offsets, start, end)
    nothing_to_find = Outputs(Question("n", "what", context, ()), offsets, start, end)
    assert choose_length_penalty([outputs, nothing_to_find]) == penalty


def test_wrong_pairs_never_meet_their_own_paragraph():
    questions = [Question(str(n), f"q{n}", f"context {n % 3}", ((0, "c"),)) for n in range(60)]
    wrong = pair_wrongly(questions, seed=3)
    assert all(a.context != b.context and not b.answers for a, b in zip(questions, wrong, strict=True))
    assert wrong == pair_wrongly(questions, seed=3)


def test_questions_about_one_paragraph_have_no_other_to_be_put_to():
    questions = [Question(str(n), f"q{n}", "context", ((0, "c"),)) for n in range(3)]
    with pytest.raises(DataError, match=r"3 questions about one paragraph .*: give questions about several"):
        pair_wrongly(questions, seed=3)
    assert pair_wrongly([], seed=3) == []


@pytest.mark.parametrize(
    ("questions", "match"),
    [
        ([], "the data held out to calibrate with has questions about one paragraph or none"),
        ([Question("a", "q", "one", ((0, "o"),))] * 2, "questions about one paragraph or none: calibrate on many"),
        ([Question("a", "q", "one", ()), Question("b", "q", "two", ())], "has no question with an answer: calibrate"),
    ],
)
def test_too_little_to_calibrate_with_is_refused(questions, match):
    with pytest.raises(DataError, match=match):
        calibrate(Mock(), Mock(), questions, seed=3)
