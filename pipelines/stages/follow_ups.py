"""Follow-up questions: dependence on earlier ones, and resolution.

"When was the tower built?" "And how high is it?" is read as "How high is the tower?", and searched with the words of
both. Rules of English alone; what they are tuned and judged on is ``benchmarks.follow_ups``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.stages.noun_phrases import (
    AUXILIARIES,
    FUNCTION_WORDS,
    WH_WORDS,
    Word,
    counted_in,
    is_content,
    phrases_of,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_EXCHANGES = 4
"""Questions that a conversation remembers."""
MAX_FRAGMENT_WORDS = 6
MAX_BARE_WORDS = 3
"""Of a fragment that nothing leads in: "the tower?"."""
MAX_NAME_WORDS = 8
"""Of an answer that stands for what a pronoun means."""

_PERSONS = frozenset(("he", "him", "his", "she", "her", "hers"))
_THINGS = frozenset(("it", "its", "they", "them", "their", "theirs"))
_MANY = frozenset(("they", "them", "their", "theirs", "these", "those"))
_WHO = frozenset(("who", "whom", "whose"))
_POSSESSIVE = frozenset(("his", "her", "its", "their"))
_POINTING = frozenset(("this", "that", "these", "those"))
_ACTS_OF_THINGS = frozenset(("cost", "take", "last", "include", "mean", "hurt", "work", "need", "count", "come"))
"""Verbs behind a "that" that means a thing: "does that cost anything?"."""
_LEADS = re.compile(r"(?:(?:and|but|so|or|okay|ok|then)\b,?\s*)+", re.IGNORECASE)
_ABOUT = re.compile(r"(?:what|how) about\s+", re.IGNORECASE)
_TRAILING = frozenset(("then", "instead", "otherwise"))
_PREPOSITIONS = frozenset(
    ("in", "on", "at", "for", "from", "to", "by", "with", "of", "during", "after", "before", "under", "over", "since")
)
_NAME = re.compile(r"(?:the )?(?:[A-Z][\w'-]*)(?:\s+[A-Z][\w'-]*)*$")
"""A name at the end of a phrase."""
_MEANS_NOTHING = re.compile(
    r"\b(?:what time|it (?:rain|snow)|is it (?:raining|snowing|cold|warm|hot)"
    r"|it\b.*?\b(?:to|that|when) (?!(?:me|her|him|it|them)\b)\w)",
    re.IGNORECASE,
)
"""Questions whose "it" means nothing that was said before: "how long does it take to walk there"."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of a conversation, and what came of it.

    Attributes:
        question: as it was understood, without pronouns that mean something else.
        answer: "" where there was none.
    """

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Resolved follow-up question.

    Attributes:
        asked: the question with what it leaves out.
        query: what is searched: the words of both questions.
    """

    asked: str
    query: str


def follow_up(question: str, history: Sequence[Exchange]) -> FollowUp | None:
    """Return what a question asks in its conversation; None: it stands alone.

    Args:
        question: as it was said or typed.
        history: what was asked before, the latest last.
    """
    if not history:
        return None
    # Thanks and remarks are no questions that one goes on from.
    earlier = next((one for one in reversed(history) if one.answer), history[-1])
    bare = _LEADS.sub("", question, count=1) if _LEADS.match(question) else question
    has_lead = bare != question
    about = _ABOUT.match(bare)
    words = words_of(bare)
    if not words:
        return None
    if about or _is_fragment(words, bare, has_lead=has_lead):
        asked = _with_fragment(bare[about.end() :] if about else bare, earlier.question, is_about=about is not None)
    elif means := _pronouns(bare, words):
        asked = _replaced(bare, words, means, earlier)
    elif has_lead or words[-1].lower in _TRAILING:
        asked = bare
    else:
        return None
    return FollowUp(asked[:1].upper() + asked[1:], f"{asked} {earlier.question} {_name(earlier.answer)}")


def points_at(question: str, topic: str) -> FollowUp | None:
    """Return a question about a topic, such as "how much is it?"; None: another.

    Args:
        question: as it was said or typed.
        topic: a thing that is talked about.
    """
    words = words_of(question)
    if not words or not (means := _pronouns(question, words)):
        return None
    asked = _replaced(question, words, means, Exchange(f"How is the {topic}?"))
    return FollowUp(asked[:1].upper() + asked[1:], f"{asked} {topic}") if asked != question else None


def _is_fragment(words: Sequence[Word], text: str, *, has_lead: bool) -> bool:
    """Return whether a text is a fragment: "on Sundays?", "why?"."""
    if len(words) > MAX_FRAGMENT_WORDS or not (has_lead or text.rstrip().endswith("?")):
        return False
    if any(word.lower in AUXILIARIES for word in words):
        return False
    if any(word.lower in WH_WORDS for word in words[2:]):
        return False
    if words[0].lower in WH_WORDS:
        # "Why?" and "how much?" have no verb, "who paid?" has one.
        return len(words) == 1 or (words[0].lower in {"how", "which", "what"} and len(words) == 2)
    return words[0].lower in _PREPOSITIONS or has_lead or len(words) <= MAX_BARE_WORDS


def _with_fragment(fragment: str, question: str, *, is_about: bool) -> str:
    """Expand a fragment by the question before: "And for students?"."""
    fragment = fragment.rstrip(" ?.!,")
    stem = question.rstrip(" ?.!,")
    words = words_of(fragment)
    before = words_of(stem)
    first = words[0].lower if words else ""
    if first in WH_WORDS and before:
        skipped = next((at for at, word in enumerate(before) if word.lower in AUXILIARIES), 1)
        return f"{fragment} {stem[before[min(skipped, len(before) - 1)].start :]}?"
    if first in _PREPOSITIONS:
        same = next((word for word in reversed(before) if word.lower == first), None)
        if same is not None:
            return f"{stem[: same.start]}{fragment}?"
        return f"{stem} {fragment}?"
    phrases = phrases_of(stem)
    if phrases and (is_about or len(words) <= MAX_FRAGMENT_WORDS):
        last = phrases[-1]
        return f"{stem[: last.start]}{fragment}{stem[last.end :]}?"
    return f"{stem}, {fragment}?"


def _pronouns(text: str, words: Sequence[Word]) -> list[int]:
    """Return the places of the pronouns that mean something said before."""
    if _MEANS_NOTHING.search(text):
        return []
    found = []
    helper = next((at for at, word in enumerate(words) if word.lower in AUXILIARIES), 1)
    # What the question itself names, behind its auxiliary, a pronoun may well mean.
    named = [at for at, word in enumerate(words) if at > helper and is_content(word)]
    for at in range(len(words)):
        before = words[at - 1].lower if at else ""
        earlier = sum(place < at for place in named)
        # "the name of its captain": what stands before is what is asked for.
        is_free = not earlier or (earlier == 1 and (before == "of" or words[at].lower == "there"))
        if is_free and _is_pronoun(words, at):
            found.append(at)
    return found


def _is_pronoun(words: Sequence[Word], at: int) -> bool:
    """Return whether a word is a pronoun here, by its neighbours."""
    word = words[at].lower
    before = words[at - 1].lower if at else ""
    after = words[at + 1].lower if at + 1 < len(words) else ""
    if word == "there":
        return at > 0 and not {before, after} & AUXILIARIES and after != "ever"
    if word in {"one", "ones"}:
        return not after
    if word in _POINTING:
        # "How much does that cost?", but not "that boat" and "those with a ticket".
        is_subject = before in AUXILIARIES and (len(words) == at + 2 or after in _ACTS_OF_THINGS)
        return (not after or after in AUXILIARIES or is_subject) and (at == 0 or before in FUNCTION_WORDS)
    return word in _PERSONS | _THINGS


def _replaced(text: str, words: Sequence[Word], places: Sequence[int], earlier: Exchange) -> str:
    """Write in the place of pronouns what they mean."""
    asked = text
    for at in reversed(places):
        word = words[at]
        after = words[at + 1] if at + 1 < len(words) else None
        meant = _meant(word.lower, earlier)
        if not meant:
            continue
        owns = word.lower in _POSSESSIVE and after is not None and is_content(after)
        if word.lower == "there":
            meant = f"at {meant}"
        asked = f"{asked[: word.start]}{meant}{chr(39) + 's' if owns else ''}{asked[word.end :]}"
    return asked


def _meant(pronoun: str, earlier: Exchange) -> str:
    """Return a pronoun's meaning after a question and its answer, or ""."""
    asked_for = next((word.lower for word in words_of(earlier.question) if word.lower in WH_WORDS), "")
    answer = _name(earlier.answer)
    phrases = [earlier.question[phrase.start : phrase.end] for phrase in phrases_of(earlier.question)]
    first = phrases[0] if phrases else answer
    if pronoun in _PERSONS:
        names = [name[0] for phrase in phrases if (name := _NAME.search(phrase))]
        return answer if asked_for in _WHO and answer else names[0] if names else first
    if pronoun == "there":
        return answer if asked_for == "where" and answer else first
    counted = counted_in(earlier.question) if pronoun in _MANY else ""
    if counted:
        return counted
    # "What stands on the quay?" is gone on with its answer, "What is the tower made of?" with the tower.
    if answer and asked_for in (
        {*_WHO, "what", "which"} if pronoun in _MANY else {"what", "which"} if not phrases else ()
    ):
        return answer
    return phrases[-1] if phrases and asked_for in _WHO else first


def _name(answer: str) -> str:
    """Return an answer that may be a pronoun's meaning, or ""."""
    words = words_of(answer)
    if not words or len(words) > MAX_NAME_WORDS or answer[:1].isdigit():
        return ""
    return answer.strip(" .,;:!?")
