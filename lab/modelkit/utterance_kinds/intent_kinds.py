"""Which kinds of utterances the intents of a data set take: those that their utterances are of."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.utterance_kinds import CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from engines.bert.utterance_kinds import KindClassifier
    from modelkit.nlu import Utterance

MIN_SHARE = 0.05
"""Share of an intent's utterances that must be of a kind for the intent to take it."""
MIN_COUNT = 3.0
"""Number of utterances that must be so besides, lest a slip in the labels count."""
MIN_UTTERANCES = 10
"""Utterances of an intent from which this holds; of fewer every kind counts that one of them is of."""
LEAST = 0.07
"""Least probability that an utterance is of a kind that its intent takes."""
ALWAYS = ("command",)
"""Kinds that every intent takes: what is said in a few words looks like a command."""
WITH_QUESTIONS = ("question negated", "statement")
"""Kinds that an intent takes if it takes questions, which ask for information and do nothing: "my alarms for today"."""


def intent_kinds(utterances: Sequence[Utterance], classifier: KindClassifier) -> Mapping[str, Sequence[str]]:
    """Lists the kinds that each intent takes."""
    sums: dict[str, npt.NDArray[np.float64]] = collections.defaultdict(lambda: np.zeros(len(CLASSES)))
    counts = collections.Counter(utterance.intent for utterance in utterances)
    for utterance in utterances:
        sums[utterance.intent] += classifier.classify(utterance.text).probabilities
    found: dict[str, Sequence[str]] = {}
    for intent in sorted(sums):
        count = counts[intent]
        least = max(MIN_SHARE, MIN_COUNT / count) if count >= MIN_UTTERANCES else 0.5 / count
        taken = {name for name, share in zip(CLASSES, sums[intent] / count, strict=True) if share >= least}
        taken.update(ALWAYS, WITH_QUESTIONS if "question" in taken else ())
        found[intent] = [name for name in CLASSES if name in taken]
    return found


def taken_kinds(utterances: Sequence[Utterance], classifier: KindClassifier) -> dict[str, object]:
    """Makes what :class:`engines.bert.intent_kinds.IntentKinds` reads."""
    return {"least": LEAST, "kinds": intent_kinds(utterances, classifier)}
