"""Likeness of a text and an agent's sentences, by words and by meaning.

Words are compared as weighted sets: a word that is said for one intent alone counts more than one that is said for
all, as in tf-idf (Spärck Jones, 1972), and what one side lacks is weighed as in Tversky (1977), "Features of
similarity". Values of lists, dates and numbers count as one word each. Meaning is compared by sentence embeddings,
where there are vectors of the sentences.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipelines.dialog.agent.value_list import words_of
from pipelines.text.dictated import find_digits
from pipelines.text.stems import stem
from pipelines.text.values import find_values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from pipelines.data.values import Value
    from pipelines.dialog.agent.value_list import ValueList

MAX_EXAMPLES = 2_000
"""Sentences of an agent that texts are compared with, as many of each intent; an engine is trained on more."""

_MARK = re.compile(r"\[([^\[\]]+)\]\([^()]+\)")
"""Slot that a sentence marks for training: ``fly to [Rome](goal)``."""
_ANY_DAY = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
# fmt: off
_COMMON = frozenset((
    "a", "about", "all", "am", "an", "and", "any", "anyway", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "er", "err", "for", "from", "get", "give", "got", "had", "has", "have", "hello",
    "her", "hey", "hi", "his", "hope", "hoping", "how", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "is", "it",
    "it's", "just", "know", "let", "let's", "like", "love", "make", "may", "me", "might", "must", "my", "need",
    "needed", "no", "not", "now", "of", "oh", "ok", "okay", "on", "one", "or", "our", "out", "please", "possible",
    "shall", "should", "so", "some", "take", "tell", "thank", "thanks", "that", "that's", "the", "then", "there",
    "these", "think", "this", "those", "to", "uh", "um", "up", "us", "want", "wanted", "was", "we", "well", "were",
    "what", "what's", "when", "where", "which", "who", "why", "will", "with", "wonder", "wondering", "would", "yes",
    "you", "you're", "your",
))
"""Words of every wish, which tell little of it."""
# fmt: on
_COMMON_WEIGHT, _VALUE_WEIGHT, _PAIR_WEIGHT, _COMMON_PAIR_WEIGHT = 0.25, 0.4, 0.5, 0.15
_UNKNOWN_WEIGHT = 0.6
"""Of a word that stands in no sentence, against one that stands in one."""
_SHARED_PURITY = 0.25
"""What is left of the weight of a word that is said for all intents alike."""
_BEYOND, _LACKING = 0.2, 0.6
"""How much counts what a text has beyond a sentence, and what it lacks of it."""
_OF_MEANING = 0.6
"""Share of meaning in a likeness, beside that of words."""
_OF_VALUE = 0.15
"""What the value of a list adds to the likeness of the only intent that takes it."""
_NEAREST = 3
MIN_LIKENESS, MIN_LIKENESS_OF_WORDS = 0.45, 0.55
"""Least likeness of a text and an intent's sentences that is one of them, with and without vectors."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Intent that a text is most like.

    Attributes:
        intent: its name; "": there are no sentences.
        confidence: 0 to 1; from 0.5 on it is meant.
    """

    intent: str = ""
    confidence: float = 0.0


class Examples:
    """An agent's sentences, to be compared with texts.

    Args:
        sentences: of every intent that has some.
        values: value lists by name.
        lists: names of the value lists that the slots of an intent take, by intent.

    Attributes:
        texts: the sentences, as they are embedded.
        vectors: those of :attr:`texts`, of length 1, float32 ``[texts, dimensions]``; None: words alone are compared.
    """

    def __init__(
        self,
        sentences: Mapping[str, Sequence[str]],
        values: Mapping[str, ValueList],
        lists: Mapping[str, Collection[str]],
    ) -> None:
        self._values = values
        self._takers = {name: [intent for intent in sentences if name in lists.get(intent, ())] for name in values}
        share = MAX_EXAMPLES // max(1, len(sentences))
        chosen = [
            (intent, _MARK.sub(r"\1", one)) for intent, listed in sentences.items() for one in _spread(listed, share)
        ]
        self.texts: tuple[str, ...] = tuple(text for _, text in chosen)
        self.vectors: npt.NDArray[np.float32] | None = None
        self._intents = [intent for intent, _ in chosen]
        self._places = {name: np.flatnonzero([name == one for one in self._intents]) for name in sentences}
        features = [self._features(text, find_values(text, _ANY_DAY)) for text in self.texts]
        self._weights = _weights_of(zip(self._intents, features, strict=True))
        self._sizes = np.array([sum(map(self._weight, found)) for found in features], np.float64)
        self._holding: dict[str, list[int]] = defaultdict(list)
        for place, found in enumerate(features):
            for feature in found:
                self._holding[feature].append(place)

    def most_like(
        self, text: str, values: Iterable[Value] = (), vector: npt.NDArray[np.float32] | None = None
    ) -> Likeness:
        """Return the intent whose sentences are most like a text.

        Args:
            text: what was said or typed.
            values: dates, numbers … of the text.
            vector: of the text, float32 ``[dimensions]``; None: words alone are compared.
        """
        if not self.texts:
            return Likeness()
        found = self._features(text, values)
        said = sum(map(self._weight, found))
        shared = np.zeros(len(self.texts))
        for feature in found:
            if feature in self._holding:
                shared[self._holding[feature]] += self._weight(feature)
        of_words = shared / np.maximum(shared + _BEYOND * (said - shared) + _LACKING * (self._sizes - shared), 1e-9)
        meaning = self.vectors @ vector if self.vectors is not None and vector is not None else None
        told = {name: feature for feature in found if (name := feature[1:-1]) in self._takers and feature[0] == "<"}
        scores: dict[str, float] = {}
        for intent, places in self._places.items():
            score = float(of_words[places].max())
            if meaning is not None:
                nearest = np.sort(meaning[places])[-_NEAREST:]
                score = _OF_MEANING * float(nearest.mean() + nearest[-1]) / 2 + (1 - _OF_MEANING) * score
            scores[intent] = score
        best = max(scores, key=scores.__getitem__)
        least = MIN_LIKENESS_OF_WORDS if meaning is None else MIN_LIKENESS
        if scores[best] < least:
            for taker in (takers[0] for name in told if len(takers := self._takers[name]) == 1):
                scores[taker] += _OF_VALUE
            best = max(scores, key=scores.__getitem__)
        return Likeness(best, min(1.0, scores[best] / (2 * least)))

    def _weight(self, feature: str) -> float:
        own = self._weights.get(feature)
        return _kind_weight(feature) * (_UNKNOWN_WEIGHT if own is None else own)

    def _features(self, text: str, values: Iterable[Value]) -> frozenset[str]:
        words = words_of(text)
        # A number that is dictated is one word, as its digits in figures are.
        places = [(one.start, one.end, "<digits>") for one in find_digits(text)]
        places += [(value.start, value.end, f"<{value.kind.value}>") for value in values]
        listed = [(one, f"<{name}>") for name, values in self._values.items() for one in values.find_all(words)]
        for one, name in sorted(listed, key=lambda found: -found[0].length):
            if all(one.end <= start or end <= one.start for start, end, _ in places):
                places.append((one.start, one.end, name))
        found: list[str] = []
        last = None
        for word in words:
            place = next((it for it in places if it[0] <= word.start < it[1]), None)
            if place is None:
                found.append(f"_{word.text}" if word.text in _COMMON else stem(word.text))
            elif place is not last:
                found.append(place[2])
            last = place
        pairs = (f"{one} {other}" for one, other in itertools.pairwise(found) if one[0] != "<" != other[0])
        return frozenset((*found, *pairs))


def _spread(sentences: Sequence[str], most: int) -> Sequence[str]:
    """Return at most so many sentences, spread over all."""
    listed = list(dict.fromkeys(sentences))
    count = min(len(listed), most)
    return [listed[at * len(listed) // count] for at in range(count)]


def _weights_of(examples: Iterable[tuple[str, frozenset[str]]]) -> dict[str, float]:
    """Return how much each feature tells of an intent, 0 to 1."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sizes = Counter[str]()
    for intent, features in examples:
        sizes[intent] += 1
        for feature in features:
            counts[feature][intent] += 1
    total, chance = sizes.total(), 1 / max(1, len(sizes))
    weights = {}
    for feature, of_intents in counts.items():
        rates = [of_intents[intent] / size for intent, size in sizes.items()]
        purity = (max(rates) / sum(rates) - chance) / (1 - chance) if chance < 1 else 1.0
        rarity = math.log(1 + total / of_intents.total()) / math.log(1 + total)
        weights[feature] = (_SHARED_PURITY + (1 - _SHARED_PURITY) * purity) * rarity
    return weights


def _kind_weight(feature: str) -> float:
    if " " in feature:
        return _COMMON_PAIR_WEIGHT if all(word[0] == "_" for word in feature.split()) else _PAIR_WEIGHT
    return _COMMON_WEIGHT if feature[0] == "_" else _VALUE_WEIGHT if feature[0] == "<" else 1.0
