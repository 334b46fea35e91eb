"""Splits off what a network is validated and calibrated with.

Every run holds out the same part of the same data, whatever its seed: a pupil is judged on what none of its teachers
was trained on.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modelkit.nlu import Utterance

SPLIT_SEED = 7
MIN_VALIDATION = 100
"""Validation examples below which a score says little: even a perfect score on 100 leaves room for 3 errors in 100."""

_MAX_OF_ARTICLE = 0.05
"""An article with a greater share of all questions is taken apart into its paragraphs."""


class Placed(Protocol):
    """A text and where it comes from."""

    @property
    def article(self) -> str:
        """Title of the article; "" where there is none."""

    @property
    def context(self) -> str:
        """The paragraph."""


PlacedT = TypeVar("PlacedT", bound=Placed)


def split_utterances(utterances: Sequence[Utterance], share: float) -> tuple[list[Utterance], list[Utterance]]:
    """Splits off about ``share`` of the utterances; one of every intent at least stays for training.

    Returns:
        The utterances to train on, and those to validate on.
    """
    shuffled = list(utterances)
    random.Random(SPLIT_SEED).shuffle(shuffled)
    left = Counter(utterance.intent for utterance in shuffled)
    training: list[Utterance] = []
    validating: list[Utterance] = []
    wanted = max(1, round(share * len(shuffled)))
    for utterance in shuffled:
        if len(validating) < wanted and left[utterance.intent] > 1:
            left[utterance.intent] -= 1
            validating.append(utterance)
        else:
            training.append(utterance)
    return training, validating


def split_articles(texts: Sequence[PlacedT], share: float) -> tuple[list[PlacedT], list[PlacedT]]:
    """Splits off about ``share`` of questions or passages, whole articles, so that no text is on both sides.

    Returns:
        The texts to train on, and those to validate on.
    """
    rng = random.Random(SPLIT_SEED)
    sizes = Counter(text.article for text in texts)

    def group(text: PlacedT) -> tuple[str, str]:
        small = text.article and sizes[text.article] <= _MAX_OF_ARTICLE * len(texts)
        return text.article, "" if small else text.context

    groups: dict[tuple[str, str], list[PlacedT]] = {}
    for text in texts:
        groups.setdefault(group(text), []).append(text)
    names = list(groups)
    rng.shuffle(names)
    training: list[PlacedT] = []
    validating: list[PlacedT] = []
    for name in names:
        (validating if len(validating) < share * len(texts) else training).extend(groups[name])
    rng.shuffle(training)
    rng.shuffle(validating)
    return training, validating


def small_validation_warning(count: int, kind: str) -> str:
    """Warn of a validation set whose score says little; "" where it is large enough.

    Args:
        count: examples in it.
        kind: what they are, in the plural.
    """
    if count >= MIN_VALIDATION:
        return ""
    # The share of right answers with which count of count are right once in 20 times.
    plausible = 0.05 ** (1 / count)
    return (
        f"warning: only {count} {kind} were held out for validation, and with fewer than {MIN_VALIDATION} a score says "
        f"little: a network that is right in {plausible:.0%} of all cases can have a perfect one. Give more data or a "
        "larger --validation, or judge the engine with `vivavoce eval` on data of its own"
    )
