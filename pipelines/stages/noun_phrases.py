"""Noun phrases of English questions, by function words alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")

WH_WORDS = frozenset(("what", "which", "who", "whom", "whose", "when", "where", "why", "how"))
DO = frozenset(("do", "does", "did"))
BE = frozenset(("is", "are", "was", "were", "be", "been", "being", "has", "have", "had"))
AUXILIARIES = DO | BE | frozenset(("can", "could", "will", "would", "shall", "should", "may", "might", "must", "am"))
DETERMINERS = frozenset(
    ("the", "a", "an", "this", "that", "these", "those", "my", "your", "our", "its", "his", "their")
)
_JOINING = frozenset(("of", "in", "on", "at", "over"))
FUNCTION_WORDS = (
    WH_WORDS
    | AUXILIARIES
    | DETERMINERS
    | frozenset(
        (
            *("i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "there", "here"),
            *("of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "into", "about", "over", "under", "up"),
            *("and", "or", "but", "if", "than", "then", "not", "no", "so", "too", "also", "since", "until", "after"),
            *(
                "before",
                "during",
                "please",
                "much",
                "many",
                "long",
                "often",
                "far",
                "old",
                "high",
                "big",
                "some",
                "any",
            ),
            *("out", "down", "off", "one", "ones", "else", "back", "first", "last", "get", "take", "cost", "need"),
        )
    )
)
_PARTICIPLES = frozenset(
    (
        *("built", "made", "born", "found", "known", "cast", "called", "lit", "given", "taken", "sold", "held", "kept"),
        *("told", "written", "seen", "shown", "lost", "won", "paid", "left", "drawn", "grown", "worn", "begun"),
    )
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, with its first code point and the one past its last."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The word in lower case."""
        return self.text.lower()


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase of a text: code points ``start`` to ``end`` (exclusive)."""

    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Divide a text into words, without punctuation."""
    return [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]


def is_content(word: Word) -> bool:
    """Return whether a word names something, even a name like a function word."""
    return word.lower not in FUNCTION_WORDS


def phrases_of(question: str) -> list[Phrase]:
    """Return the noun phrases of a question behind its question words, in its order.

    Verbs at the end of a phrase are left out where an auxiliary before it tells that one must come.
    """
    words = words_of(question)
    at = _behind_question_words(words)
    found: list[Phrase] = []
    auxiliary = words[at - 1].lower if at else ""
    while at < len(words):
        if words[at].lower in AUXILIARIES:
            auxiliary = words[at].lower
        run, end = _run(words, at)
        if not run:
            at += 1
            continue
        whole = run
        run = _without_verb(words, run, end, auxiliary)
        # Another phrase may stand before the verb: "the bell in the tower called".
        auxiliary = auxiliary if len(run) == len(whole) else ""
        start, stop = run[0].start, run[-1].end
        joins = found and question[found[-1].end : start].strip().lower() in _JOINING
        if joins:
            found[-1] = Phrase(found[-1].start, stop)
        else:
            found.append(Phrase(start, stop))
        at = end
    return found


def counted_in(question: str) -> str:
    """Return the counted noun: "pictures" of "how many pictures", or ""."""
    words = words_of(question)
    for at, word in enumerate(words[:-1]):
        if word.lower in {"which", "what"} or (word.lower == "many" and at and words[at - 1].lower == "how"):
            run, _ = _run(words, at + 1)
            return question[run[0].start : run[-1].end] if run else ""
    return ""


def _behind_question_words(words: list[Word]) -> int:
    """Return the place behind "how long is", "which boat did" and "who founded"."""
    at = next((at for at, word in enumerate(words) if word.lower in WH_WORDS), -1)
    if at < 0:
        return 1 if words and words[0].lower in AUXILIARIES else 0
    helper = next((it for it in range(at + 1, min(at + 5, len(words))) if words[it].lower in AUXILIARIES), -1)
    if helper >= 0 and not any(words[it].lower in DETERMINERS for it in range(at + 1, helper)):
        return helper + 1
    return min(at + (3 if words[at].lower in {"which", "what", "whose"} else 2), len(words))


def _run(words: list[Word], at: int) -> tuple[list[Word], int]:
    """Return the determiner and content words at a place, and the place behind."""
    end = at
    if words[end].lower in DETERMINERS:
        end += 1
        # "the first captain", "the old bridge": what is no content elsewhere is, behind a determiner.
        while end < len(words) and words[end].lower in {"first", "last", "old", "high", "big", "long"}:
            end += 1
    while end < len(words) and (is_content(words[end]) or (end > at and words[end].text[:1].isupper())):
        end += 1
    run = words[at:end]
    return (run, end) if any(is_content(word) for word in run) else ([], at)


def _without_verb(words: list[Word], run: list[Word], end: int, auxiliary: str) -> list[Word]:
    """Drop the verb that an auxiliary before the phrase announces."""
    contents = sum(map(is_content, run))
    if contents < 2 or run[-1].text[:1].isupper():
        return run
    last = run[-1].lower
    if auxiliary in DO or (auxiliary in AUXILIARIES - BE):
        has_verb = end < len(words) and words[end].lower in {"have", "be", "cost", "take", "get", "need"}
        return run if has_verb else run[:-1]
    if auxiliary in BE and (last.endswith("ed") or last in _PARTICIPLES):
        return run[:-1]
    return run
