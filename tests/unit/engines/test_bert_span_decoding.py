from __future__ import annotations

import json
import math

import numpy as np
import pytest

from engines.bert.span_decoding import Calibration, SpanDecoder, best_span
from engines.bert.tokenizing import NO_OFFSET

PLAIN = Calibration(bias=0.0, margin=1.0, rivals=0.0, threshold=0.5)


def window(words: int, first_char: int = 0):
    """Offsets of [CLS] question [SEP] words [SEP], each word of four characters and a space."""
    none = [(NO_OFFSET, NO_OFFSET)]
    return np.array(none * 3 + [(first_char + 5 * n, first_char + 5 * n + 4) for n in range(words)] + none)


def peaks(words: int, at: dict[int, float], cls: float = 0.0) -> np.ndarray:
    logits = np.full(words + 4, -4.0, np.float32)
    logits[0] = cls
    for word, value in at.items():
        logits[3 + word] = value
    return logits


def test_the_best_span():
    offsets = window(6)
    answer = SpanDecoder(PLAIN).decode(offsets[None], peaks(6, {2: 3.0})[None], peaks(6, {4: 2.0})[None])
    assert (answer.start, answer.end) == (10, 24)
    assert answer.score == pytest.approx(1 / (1 + math.exp(-5)))


def test_the_end_is_never_before_the_start():
    offsets = window(6)
    span = best_span(offsets, peaks(6, {4: 5.0, 1: 3.0}), peaks(6, {2: 5.0}), 30)
    assert (span.start, span.end) == (5, 14)


def test_an_answer_is_not_longer_than_allowed():
    offsets = window(6)
    start, end = peaks(6, {0: 5.0}), peaks(6, {5: 5.0, 1: 1.0})
    assert best_span(offsets, start, end, 30).end == 29
    assert best_span(offsets, start, end, 5).end != 29 or best_span(offsets, start, end, 5).start != 0
    assert (best_span(offsets, start, end, 2).start, best_span(offsets, start, end, 2).end) == (0, 9)


def test_the_penalty_takes_the_shorter_of_two_answers_unless_the_longer_is_much_better():
    offsets = window(6)
    start, end = peaks(6, {0: 5.0, 4: 4.5}), peaks(6, {4: 5.0})
    ends = [best_span(offsets, start, end, 30, penalty) for penalty in (0.0, 0.1, 0.2)]
    assert [(span.start, span.end) for span in ends] == [(0, 24), (0, 24), (20, 24)]
    assert [span.margin for span in ends] == pytest.approx([10.0, 9.6, 9.5])
    decoder = SpanDecoder(Calibration(threshold=0.0, length_penalty=0.2))
    assert decoder.best(offsets[None], start[None], end[None]).start == 20


def test_tokens_that_the_network_excludes_are_no_answer():
    offsets = window(4)
    logits = np.full(8, -np.inf, np.float32)
    logits[0] = 0.0
    assert best_span(offsets, logits, logits, 30) is None
    start, end = logits.copy(), logits.copy()
    start[4:7], end[4] = 1.0, 1.0
    span = best_span(offsets, start, end, 30)
    assert (span.start, span.end) == (5, 9)


def test_the_question_and_the_padding_are_no_answer():
    offsets = window(3)
    start = peaks(3, {0: 1.0})
    start[1], start[-1] = 9.0, 9.0
    assert best_span(offsets, start, start, 30).start == 0


def test_a_strong_cls_means_no_answer():
    offsets = window(6)
    logits = peaks(6, {2: 3.0}, cls=4.0)
    answer = SpanDecoder(PLAIN).decode(offsets[None], logits[None], logits[None])
    assert (answer.start, answer.end) == (NO_OFFSET, NO_OFFSET)
    assert answer.score == pytest.approx(1 / (1 + math.exp(2)))


def test_of_several_windows_the_surest_speaks_not_the_loudest():
    offsets = np.stack([window(6), window(6, first_char=100)])
    loud, sure = peaks(6, {1: 9.0}, cls=8.0), peaks(6, {2: 4.0}, cls=-1.0)
    logits = np.stack([loud, sure])
    answer = SpanDecoder(PLAIN).decode(offsets, logits, logits)
    assert (answer.start, answer.end) == (110, 114)


def test_rivals_lower_the_score():
    offsets = window(6)
    calibration = Calibration(bias=0.0, margin=0.1, rivals=1.0, threshold=0.0)
    alone, rivalled = peaks(6, {2: 3.0}), peaks(6, {2: 3.0, 4: 3.0})
    decoder = SpanDecoder(calibration)
    # Three rival spans as strong as the best: a quarter of the odds, but for the weak ones.
    sure, unsure = (decoder.decode(offsets[None], logits[None], logits[None]).score for logits in (alone, rivalled))
    assert sure / (1 - sure) == pytest.approx(3 * unsure / (1 - unsure), rel=0.01)


def test_without_a_document_there_is_no_answer():
    offsets = np.full((1, 4, 2), NO_OFFSET)
    answer = SpanDecoder(PLAIN).decode(offsets, np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32))
    assert (answer.start, answer.end, answer.score) == (NO_OFFSET, NO_OFFSET, 0.0)


@pytest.mark.parametrize("extreme", [1e4, -1e4])
def test_the_score_is_a_probability_whatever_the_logits(extreme):
    offsets = window(3)
    logits = peaks(3, {1: extreme})
    score = SpanDecoder(PLAIN).best(offsets[None], logits[None], logits[None]).score
    assert 0 < score < 1


def test_a_calibration_is_read(tmp_path):
    path = tmp_path / "calibration.json"
    fields = {"bias": 1, "margin": 2, "rivals": 3, "threshold": 0.5, "max_answer_tokens": 12}
    path.write_text(json.dumps(fields))
    assert Calibration.load(path) == Calibration(1.0, 2.0, 3.0, 0.5, 12, length_penalty=0.0)
    path.write_text(json.dumps(fields | {"length_penalty": 0.1}))
    assert Calibration.load(path).length_penalty == 0.1


@pytest.mark.parametrize("content", ["no JSON", "{}", '{"bias": "high"}', "[1]"])
def test_a_bad_calibration_is_refused_by_name(tmp_path, content):
    path = tmp_path / "calibration.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"calibration\.json holds no calibration"):
        Calibration.load(path)
