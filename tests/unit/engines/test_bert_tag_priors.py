from __future__ import annotations

import itertools

import numpy as np
import pytest

from engines.bert.tag_priors import COMMON, TagPriors, best_tags


def test_priors_survive_a_file(tmp_path):
    rng = np.random.default_rng(1)
    priors = TagPriors(rng.random((3, 2), np.float32), 0.8, rng.random((6, 5), np.float32))
    priors.save(tmp_path / "priors.npz")
    loaded = TagPriors.load(tmp_path / "priors.npz")
    np.testing.assert_array_equal(loaded.slots_given_intent, priors.slots_given_intent)
    np.testing.assert_array_equal(loaded.transitions, priors.transitions)
    assert loaded.slot_weight == pytest.approx(0.8)


def test_a_file_of_something_else_is_named(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(1))
    with pytest.raises(ValueError, match=r"other\.npz"):
        TagPriors.load(tmp_path / "other.npz")


def test_transitions_must_fit_the_slots():
    with pytest.raises(ValueError, match="transitions"):
        TagPriors(np.ones((3, 2), np.float32), 1.0, np.zeros((4, 3), np.float32))


def test_slots_that_an_intent_never_has_are_held_back():
    priors = TagPriors(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), 0.5, np.zeros((6, 5), np.float32))
    bias = priors.tag_bias(np.array([1.0, 0.0], np.float32))
    assert bias[0] == 0
    assert bias[1] == bias[2] == 0
    assert bias[3] == bias[4] == pytest.approx(0.5 * np.log(1e-4 / COMMON), rel=1e-4)


def test_an_unsure_intent_holds_back_less():
    priors = TagPriors(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), 0.5, np.zeros((6, 5), np.float32))
    sure, unsure = (priors.tag_bias(np.array(p, np.float32)) for p in ([0.99, 0.01], [0.7, 0.3]))
    assert sure[3] < unsure[3] == 0


def test_no_priors_change_nothing():
    priors = TagPriors.none(4, 2)
    assert not priors.tag_bias(np.full(4, 0.25, np.float32)).any()
    assert not priors.transitions.any()


@pytest.mark.parametrize("seed", range(8))
def test_the_best_path_is_that_of_an_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(4, 5)).astype(np.float32)
    transitions = rng.normal(size=(6, 5)).astype(np.float32)

    def score(path: tuple[int, ...]) -> float:
        total = 0.0
        for before, (word, tag) in zip((5, *path), enumerate(path), strict=False):
            if tag in (2, 4) and before not in (tag, tag - 1):
                return -np.inf
            total += float(transitions[before, tag] + logits[word, tag])
        return total

    assert tuple(best_tags(logits, transitions)) == max(itertools.product(range(5), repeat=4), key=score)
