"""Understanding by example sentences, for scripts: deterministic, no model."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.wishes import denies
from pipelines.stages.understanding import NO_INTENT, Reading, Understanding
from pipelines.text.clauses import split_clauses
from pipelines.text.values import find_values

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Set as AbstractSet

    from pipelines.dialog.agent.agent import Agent

_MARK = re.compile(r"\[([^\[\]]+)\]\([^()]+\)")
"""Slot that a sentence marks for training: ``fly to [Rome](goal)``."""

MIN_LIKENESS = 0.6
"""Least likeness of a text and a sentence, 0 to 1, of one intent."""


class ExampleUnderstanding:
    """Finds the intent whose sentences are most like a text.

    Sentences are compared as sets of words, of which rare ones count more. Every value of a list counts as one word.

    Args:
        agent: with sentences and value lists.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._examples = [
            (intent, self._features(sentence))
            for intent, sentences in agent.sentences.items()
            for sentence in dict.fromkeys(sentences)
        ]
        counts = Counter(feature for _, features in self._examples for feature in features)
        self._weights = {word: math.log(1 + len(self._examples) / count) for word, count in counts.items()}
        self._unknown = math.log(1 + len(self._examples)) if self._examples else 1.0

    def __call__(self, text: str, now: dt.datetime) -> Understanding:
        """Return the intent and the values of a text.

        Args:
            text: what the caller says.
            now: the caller's date and time, with a zone.
        """
        intent, likeness = self._intent_of(text)
        clauses = split_clauses(text)
        parts = [(clause, *self._intent_of(clause.of(text))) for clause in clauses if len(clauses) > 1]
        are_wishes = all(part != NO_INTENT or denies(clause.of(text)) for clause, part, _ in parts)
        readings = tuple(
            Reading(part, likeness, (), "command", denies(clause.of(text)), clause.start, clause.end)
            for clause, part, likeness in parts
            if are_wishes
        )
        return Understanding(intent, likeness, values=find_values(text, now), readings=readings)

    def _intent_of(self, text: str) -> tuple[str, float]:
        features = self._features(text)
        likenesses = ((self._likeness(features, example), intent) for intent, example in self._examples)
        likeness, intent = max(likenesses, default=(0.0, NO_INTENT))
        return (intent if likeness >= MIN_LIKENESS else NO_INTENT), likeness

    def _likeness(self, one: AbstractSet[str], other: AbstractSet[str]) -> float:
        weight = self._weight(one) + self._weight(other)
        return 2 * self._weight(one & other) / weight if weight else 0.0

    def _weight(self, features: AbstractSet[str]) -> float:
        return sum(self._weights.get(feature, self._unknown) for feature in features)

    def _features(self, text: str) -> frozenset[str]:
        words = words_of(_MARK.sub(r"\1", text))
        mentions = [
            (mention, f"<{name}>") for name, values in self._agent.values.items() for mention in values.find(words)
        ]
        features: set[str] = set()
        covered: list[tuple[int, int]] = []
        for mention, feature in sorted(mentions, key=lambda found: -found[0].length):
            if all(mention.end <= start or end <= mention.start for start, end in covered):
                features.add(feature)
                covered.append((mention.start, mention.end))
        plain = (word.text for word in words if not any(start <= word.start < end for start, end in covered))
        return frozenset(features.union(plain))
