"""Denials and corrections: "not tomorrow", "anything but ham", "no, seven"."""

from __future__ import annotations

import re

from pipelines.dialog.agent.value_list import words_of
from pipelines.text.language import spoken_language

_SKIPPED = frozenset(
    (
        "a",
        "an",
        "the",
        "any",
        "that",
        "some",
        "my",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "of",
        "with",
        "by",
        "it",
        "be",
        "is",
    )
)
"""Words between a denial and what it denies: "not in the bedroom"."""
_DENIAL = re.compile(
    r"(?:\b(?:(?<!why )(?<!if )not|never|without|minus|instead of|rather than|no more|hold|skip|remove|drop"
    r"|leave out|take out"
    r"|except|excluding|anything but|everything but|everywhere but|all but|everyone but|apart from|other than"
    r"|besides|neither|nor)"
    r"|\b(?:don't|do not|doesn't|didn't) (?:want|need|like|say|order|mean|take|have|do|make|set|put|use))$"
)
_ONWARD = frozenset(("or", "nor", "and"))
"""What carries a denial on: "not on Monday or Tuesday"."""
_BEHIND = re.compile(
    r"\s*(?:(?:is|are|was|will|would|does|do|can|could)(?: not\b|n['\u2019]t\b)|(?:won|can)['\u2019]t\b|cannot\b"
    r"|not\b(?= (?:possible|good|ok|okay|right))"
    r"|(?:is|are|was) (?:no good|wrong|impossible|out|bad|too \w+)"
    r"|(?:i|we)(?:['\u2019](?:m|re|ve)| am| are)? (?:have to|need to|must|can['\u2019]?t|cannot|work\b|working|busy"
    r"|away|travell?ing|got\b|have (?:a|an|my|no|got)\b))(?! (?:a problem|bad|an issue|matter|hurt))",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:no|nope|sorry|i mean|i meant|meant|actually|rather|wait|correction|make (?:it|that)|better"
    r"|scratch that|oops|change)\b"
)
_BREAK = re.compile(r"[,.;:!?]")
_UNREAD = re.compile(
    r"(?:\b(?:but|and)\s+|,\s*)not\b|\b(?:except|excluding|apart from|other than|anything but|everything but"
    r"|all but|without|not (?=in\b|on\b"
    r"|at\b|the\b|for\b|with\b|any\b|in\b))",
    re.IGNORECASE,
)
UNIVERSAL = frozenset(
    ("all", "any", "every", "everywhere", "everything", "everyone", "whole", "entire", "both", "each")
)
"""Words of values that hold all others."""


def is_denied_before(before: str) -> bool:
    """Return whether the words before a value, from the last one on, deny it."""
    if _BREAK.search(before.rstrip()[-1:]):
        return False
    said = [word.text for word in words_of(before)]
    if (language := spoken_language()) is not None:
        return language.denials.search(" ".join(said)) is not None
    while not _DENIAL.search(" ".join(said)):
        if not said or said[-1] not in _SKIPPED:
            return False
        del said[-1]
    return True


def phrase_before(before: str) -> str:
    """Return the lower-case words before a value, without final articles."""
    said = [word.text for word in words_of(before)]
    while said and said[-1] in _SKIPPED:
        del said[-1]
    return " ".join(said)


def goes_on(between: str) -> bool:
    """Return whether an earlier denial extends: "not on Monday or Tuesday"."""
    said = {word.text for word in words_of(between)}
    return bool(said & _ONWARD) and said <= _ONWARD | _SKIPPED


def is_denied_behind(behind: str) -> bool:
    """Return whether the words behind a value deny it: "Monday does not work"."""
    return _BEHIND.match(behind) is not None


def corrects(before: str) -> bool:
    """Return whether the words before a value make it a replacement."""
    language = spoken_language()
    return (_CORRECTION if language is None else language.corrections).search(
        " ".join(word.text for word in words_of(before))
    ) is not None


def unread_denials(text: str, denied: list[tuple[int, int]]) -> bool:
    """Return whether an unknown value is denied: "but not by the window".

    Args:
        text: of the turn.
        denied: places of the values that are denied.
    """
    for found in _UNREAD.finditer(text):
        behind = [start for start, _ in denied if found.end() <= start]
        if not behind or phrase_before(text[found.end() : min(behind)]):
            return True
    return False
