"""Which texts callers get to see, and how sure they are."""

from __future__ import annotations

import pytest

from engines.asr.search.alternatives import rank_texts
from engines.asr.serving.recognizer import Alternative

FIRST, SECOND, THIRD = (Alternative((token,), -0.5 * token, -0.5 * token) for token in (1, 2, 3))


def test_texts_that_differ_in_punctuation_alone_are_one() -> None:
    (only,) = rank_texts([("Turn on the light.", FIRST), ("Turn on the light", SECOND)], 2)
    assert (only.text, only.log_probability) == ("Turn on the light.", -0.5)
    assert only.confidence == pytest.approx(1)


def test_texts_that_differ_in_case_or_dashes_alone_are_one_and_other_words_are_not() -> None:
    found = [("Sixteen-ounce, light!", FIRST), ("sixteen ounce lights", SECOND), ("sixteen ounce light", THIRD)]
    one, other = rank_texts(found, 5)
    assert (one.text, other.text) == ("Sixteen-ounce, light!", "sixteen ounce lights")
    assert one.confidence + other.confidence == pytest.approx(1)
    assert one.confidence > other.confidence
