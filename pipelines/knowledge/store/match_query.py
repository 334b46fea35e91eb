"""Words of a question for full text search, and SQLite's query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_TERMS = 32
"""Terms of a query; a question that has more is cut."""
_TERM = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "those", "it", "its", "he", "his", "she", "her", "they", "their"),
        *("i", "me", "my", "you", "your", "we", "our", "us", "him", "them", "there", "here"),
        *("is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "has", "have", "had", "s", "t"),
        *("can", "could", "will", "would", "shall", "should", "may", "might", "must"),
        *("of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "into", "about", "and", "or", "but", "if"),
        *("what", "which", "who", "whom", "whose", "when", "where", "why", "how", "please", "tell", "many", "much"),
        *("so", "than", "then", "also", "not", "no"),
    )
)
"""Words that stand in nearly every passage, and so tell none from another."""


def telling_terms(question: str) -> list[str]:
    """Return the question's distinct words, preferably without stop words."""
    terms = list(dict.fromkeys(term.lower() for term in _TERM.findall(question)))
    return ([term for term in terms if term not in _STOP_WORDS] or terms)[:MAX_TERMS]


def match_query(question: str) -> str:
    """Return a query for any of the question's words; "" without words.

    Words are quoted, so that nothing in a question is an operator of the search.
    """
    return any_of(telling_terms(question))


def any_of(terms: Sequence[str]) -> str:
    """Return a query for any of some words."""
    return " OR ".join(f'"{term}"' for term in terms)


def rarest(counts: Mapping[str, int], most: int) -> list[str]:
    """Return the rarest words within ``most`` passages, at least one.

    Ranking takes as long as there are passages to rank, and words that stand in many passages tell them apart least.

    Args:
        counts: number of passages that have a word, by word.
        most: passages that are ranked.
    """
    kept: list[str] = []
    total = 0
    for term in sorted(counts, key=counts.__getitem__):
        total += counts[term]
        if kept and total > most:
            break
        kept.append(term)
    return kept
