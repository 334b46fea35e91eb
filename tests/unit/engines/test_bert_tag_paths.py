from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.bert.tag_paths import TagSpan, TagSteps, best_tags, likely_spans, spans_of

TAGS = ("O", "B-place", "I-place", "B-time", "I-time")
BEGINNING = len(TAGS)
LEGAL = TagSteps.legal(len(TAGS))


def logits_of(tags: list[str]) -> np.ndarray:
    return np.array([[5.0 if tag == name else 0.0 for name in TAGS] for tag in tags], np.float32)


def valid_paths(words: int) -> list[tuple[int, ...]]:
    """All tag sequences in which ``I-x`` follows only ``B-x`` or ``I-x``."""

    def valid(path: tuple[int, ...]) -> bool:
        pairs = zip((0, *path), path, strict=False)
        return all(tag == 0 or tag % 2 == 1 or before in (tag, tag - 1) for before, tag in pairs)

    return [path for path in product(range(len(TAGS)), repeat=words) if valid(path)]


def score(path: tuple[int, ...], logits: np.ndarray, transitions: np.ndarray) -> float:
    along = sum(float(transitions[step]) for step in zip((BEGINNING, *path), path, strict=False))
    return along + sum(float(row[tag]) for row, tag in zip(logits, path, strict=True))


def some(words: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits and transitions."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(words, len(TAGS)))
    return logits.astype(np.float32), rng.normal(size=(len(TAGS) + 1, len(TAGS))).astype(np.float32)


def test_an_inside_tag_without_a_beginning_is_repaired():
    tags = logits_of(["O", "I-place", "I-place"])
    assert [TAGS[tag] for tag in best_tags(tags, LEGAL)] == ["O", "B-place", "I-place"]


def test_an_inside_tag_of_another_slot_is_repaired_by_the_likelier_reading():
    tags = logits_of(["B-place", "I-time", "I-time"])
    tags[0, TAGS.index("B-time")] = 4.5
    assert [TAGS[tag] for tag in best_tags(tags, LEGAL)] == ["B-time", "I-time", "I-time"]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_best_tags_are_the_best_of_all_valid_ones(words, told, seed):
    logits, transitions = some(words, seed)
    transitions = transitions if told else 0 * transitions
    assert tuple(best_tags(logits, TagSteps(transitions))) == max(
        valid_paths(words), key=lambda p: score(p, logits, transitions)
    )


def test_spans_of_tags():
    tags = [TAGS.index(tag) for tag in ("B-time", "B-time", "I-time", "O", "B-place")]
    assert spans_of(tags) == [TagSpan(1, 0, 0), TagSpan(1, 1, 2), TagSpan(0, 4, 4)]
    assert spans_of([0, 0]) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_likely_spans_are_those_that_enough_of_all_paths_have(words, told, seed):
    logits, transitions = some(words, seed)
    transitions = transitions if told else 0 * transitions
    paths = valid_paths(words)
    weights = np.exp([score(path, logits, transitions) for path in paths])
    shares: dict[TagSpan, float] = {}
    for path, weight in zip(paths, weights / weights.sum(), strict=True):
        for span in spans_of(path):
            shares[span] = shares.get(span, 0.0) + weight
    # Above one half no two of them overlap.
    wanted = sorted((span for span, share in shares.items() if share > 0.5), key=lambda span: span.first)
    assert likely_spans(logits, TagSteps(transitions), 0.5) == wanted


def test_of_spans_that_overlap_the_likelier_one_is_taken():
    tags = logits_of(["B-place", "O"])
    tags[0, TAGS.index("B-time")] = 5.2
    assert likely_spans(tags, LEGAL, 0.3) == [TagSpan(1, 0, 0)]
    assert likely_spans(tags, LEGAL, 0.6) == []


@pytest.mark.parametrize("size", [1e-3, 60.0])
def test_likely_spans_of_flat_and_of_steep_logits(size):
    tags = size * logits_of(["B-time", "I-time", "I-time", "O", "B-place"])
    assert likely_spans(tags, LEGAL, 0.4) == ([TagSpan(1, 0, 2), TagSpan(0, 4, 4)] if size > 1 else [])


def test_a_long_span_is_followed_to_its_end():
    tags = logits_of(["B-time", *["I-time"] * 40])
    assert likely_spans(2 * tags, LEGAL, 0.4) == [TagSpan(1, 0, 40)]
