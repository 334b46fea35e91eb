from __future__ import annotations

import numpy as np
import pytest

from engines.bert.tag_priors import COMMON, TagPriors


def test_priors_survive_a_file(tmp_path):
    rng = np.random.default_rng(1)
    priors = TagPriors(rng.random((3, 2), np.float32), 0.8, rng.random((6, 5), np.float32), 0.45)
    priors.save(tmp_path / "priors.npz")
    loaded = TagPriors.load(tmp_path / "priors.npz")
    np.testing.assert_array_equal(loaded.slots_given_intent, priors.slots_given_intent)
    np.testing.assert_array_equal(loaded.transitions, priors.transitions)
    assert (loaded.slot_weight, loaded.least) == pytest.approx((0.8, 0.45))


def test_a_file_that_does_not_say_how_sure_slots_must_be_means_the_best_path(tmp_path):
    arrays = {"slots_given_intent": np.ones((3, 2), np.float32), "transitions": np.zeros((6, 5), np.float32)}
    np.savez(tmp_path / "priors.npz", slot_weight=np.float32(0.4), **arrays)
    assert TagPriors.load(tmp_path / "priors.npz").least == 0


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
