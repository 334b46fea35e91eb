from __future__ import annotations

import numpy as np
import pytest

from engines.bert.intent_decoding import IntentLabels
from engines.bert.slots import Slot
from modelkit.nlu import Utterance
from modelkit.tag_priors import choose_weights, count

LABELS = IntentLabels(("alarm", "music"), ("O", "B-song", "I-song", "B-time", "I-time"))
UTTERANCES = [
    Utterance("wake me at six", "alarm", (Slot("time", 11, 14),)),
    Utterance("wake me", "alarm", ()),
    Utterance("play yesterday", "music", (Slot("song", 5, 14),)),
    Utterance("who is he", "none of them", ()),
    Utterance("", "music", ()),
]
TAGS = [[0, 0, 0, 3], [0, 0], [0, 1], [0, 0, 0], []]


def test_shares_are_of_the_utterances_of_an_intent():
    counts = count(UTTERANCES, TAGS, LABELS)
    np.testing.assert_allclose(counts.slots_given_intent, [[0, 0.5], [0.5, 0]])


def test_what_follows_often_is_favoured_and_what_was_not_seen_is_neutral():
    counts = count(UTTERANCES * 50, TAGS * 50, LABELS)
    assert counts.transitions[0, 3] > 0 > counts.transitions[5, 3]
    np.testing.assert_allclose(counts.transitions[4], 0, atol=1e-6)


def test_the_weights_with_the_highest_score_are_chosen():
    counts = count(UTTERANCES, TAGS, LABELS)
    chosen = choose_weights(counts, lambda priors: -abs(priors.slot_weight - 0.8))
    assert chosen.slot_weight == pytest.approx(0.8)
    assert not chosen.transitions.any()
    assert chosen.least == 0


def test_slots_must_be_as_sure_as_scores_best():
    chosen = choose_weights(count(UTTERANCES, TAGS, LABELS), lambda priors: -abs(priors.least - 0.5))
    assert chosen.least == pytest.approx(0.5)
