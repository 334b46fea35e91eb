"""Scores: exact-span slot F1, intent accuracy, and SQuAD's exact match and F1."""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from engines.bert.intent_decoding import Understanding
    from modelkit.nlu import Utterance

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)


@dataclass(frozen=True, slots=True)
class SlotScore:
    """Micro-averaged score of exact spans: name, start and end must all agree."""

    precision: float
    recall: float
    f1: float


def intent_accuracy(expected: Sequence[Utterance], got: Sequence[Understanding]) -> float:
    """Share of utterances with the right intent; ``none`` is wrong where an intent is labelled."""
    pairs = list(zip(expected, got, strict=True))
    return sum(a.intent == b.intent for a, b in pairs) / len(pairs)


def slot_f1(expected: Iterable[Iterable[Hashable]], got: Iterable[Iterable[Hashable]]) -> SlotScore:
    """Scores slots over a whole set; 1.0 where there was nothing to find and nothing was found."""
    right = wanted = found = 0
    for reference, hypothesis in zip(expected, got, strict=True):
        left, other = Counter(reference), Counter(hypothesis)
        right += (left & other).total()
        wanted += left.total()
        found += other.total()
    precision = right / found if found else float(wanted == 0)
    recall = right / wanted if wanted else float(found == 0)
    total = precision + recall
    return SlotScore(precision, recall, 2 * precision * recall / total if total else 0.0)


def class_f1(pairs: Iterable[tuple[int, int]], wanted: int) -> float:
    """F1 of one class over pairs of what is right and what was found; 1.0 where neither ever names it."""
    counts = Counter((right == wanted, found == wanted) for right, found in pairs)
    named = 2 * counts[True, True] + counts[True, False] + counts[False, True]
    return 2 * counts[True, True] / named if named else 1.0


def normalize_answer(text: str) -> str:
    """Drops case, punctuation, articles and extra space, as SQuAD's evaluation does (Rajpurkar et al., 2016)."""
    bare = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, references: Sequence[str]) -> float:
    """1.0 where ``answer`` equals a reference after normalization; no reference means that "" is right."""
    return float(any(normalize_answer(answer) == normalize_answer(reference) for reference in references or ("",)))


def answer_f1(answer: str, references: Sequence[str]) -> float:
    """Best token F1 of ``answer`` against the references; no reference means that "" is right (SQuAD 2.0)."""
    return max(_token_f1(answer, reference) for reference in references or ("",))


def _token_f1(answer: str, reference: str) -> float:
    got, wanted = normalize_answer(answer).split(), normalize_answer(reference).split()
    if not got or not wanted:
        return float(got == wanted)
    common = (Counter(got) & Counter(wanted)).total()
    return 2 * common / (len(got) + len(wanted))
