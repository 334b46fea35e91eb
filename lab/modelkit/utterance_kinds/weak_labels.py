"""Kinds of utterances that their first words tell beyond doubt; of the others only a teacher judges."""

from __future__ import annotations

import re

from engines.bert.utterance_kinds import CLASSES

_QUESTION_WORDS = (
    "what what's who who's whose when where where's which how how's is are do does did was were has have am"
)
_IMPERATIVES = (
    "set turn play add remove delete cancel send write make start stop mute lower raise vacuum clean post read "
    "put change save tell give check remind skip bring find show open repeat shuffle buy answer get take "
    "increase decrease order call book wake create list switch dim search look reply email tweet describe "
    "define convert calculate recommend explain confirm resume pause brew schedule reserve"
)
_QUESTIONS, _ORDERS = frozenset(_QUESTION_WORDS.split()), frozenset(_IMPERATIVES.split())
_GREETINGS = frozenset(("olly", "hey", "okay", "ok", "so", "hi"))
_WISHES = {("i", "want"), ("i", "need"), ("i'd", "like"), ("how", "about"), ("what", "about")}
_NEGATIONS = re.compile(r"\b(?:not|never|no)\b|n't\b")
_WORDS = re.compile(r"[a-z0-9']+")


def weak_label(text: str) -> int | None:
    """Returns the class of an utterance by its first words; None where they do not tell."""
    words = _WORDS.findall(text.lower())
    while words and words[0] in _GREETINGS:
        words = words[1:]
    opening, negated = tuple(words[:2]), _NEGATIONS.search(text.lower()) is not None
    if not words or opening == ("do", "not"):
        return None
    asks_politely = words[0] in {"can", "could", "would", "will"} and opening[1:] == ("you",)
    asks_politely |= words[0] in {"can", "could", "may"} and words[1:3] in (["i", "have"], ["i", "get"], ["we", "have"])
    if words[0] in _ORDERS or words[0] in {"please", "let", "let's"} or asks_politely or opening in _WISHES:
        return None if negated or opening[1:] == ("about",) else CLASSES.index("command")
    if words[0] in _QUESTIONS:
        return CLASSES.index("question negated" if negated else "question")
    return None
