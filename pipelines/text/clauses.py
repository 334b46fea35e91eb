"""Clauses with separate requests: "turn off the lights and call me a taxi"."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_CHARACTERS = 1_000
"""Code points of the longest text that is split; a longer one is no list of wishes."""
MAX_CLAUSES = 4
"""Clauses of one utterance; what follows belongs to the last."""

MARKS = re.compile(r"[,.;:!?]+\s+|\s+(?:and|so|but)\s+", re.IGNORECASE)
"""What parts the pieces of a text."""
_VERBS = (
    "activate add adjust answer arrange begin book brew brighten bring buy calculate call cancel change check "
    "clean clear close convert create deactivate decrease define delete describe dim do drop email end erase "
    "explain find flip forward get give go grab hear help hold increase inform kill launch let's light list "
    "listen locate lock look lower make mark message move mute open order pause phone pick play please post "
    "prepare put raise read recite recommend record reduce remind remove repeat reply report reserve restart "
    "resume ring save schedule search send set show shuffle shut silence skip sort speak start stop suggest "
    "switch take text throw translate turn tweet unlock unmute update vacuum wake warm watch"
)
_OPENERS = (
    "what what's when where where's who who's which how how's why is are was were does did can could would will "
    "i'd don't"
)
_PHRASES = (r"tell\s+(?:me|us)", r"ask\s+me", r"write\s+to", r"i\s+(?:want|need|would)")
"""Verbs that go on with a message, as "tell them", begin nothing new."""
_STARTS = "|".join(sorted({*_VERBS.split(), *_OPENERS.split()}, key=len, reverse=True))
_JOINT = re.compile(
    r"(?:\s*[,;.!?]\s+(?:(?:and|then|also|but|plus)\s+){0,3}|\s+(?:(?:and|then|also|but|plus)\s+){1,3})"
    rf"(?=(?:please\s+|also\s+|then\s+)*(?:{_STARTS}|{'|'.join(_PHRASES)})\b)",
    re.IGNORECASE,
)
_MIN_WORDS = 2


class Clause(NamedTuple):
    """A piece of a text, from code point ``start`` to before ``end``."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the piece."""
        return text[self.start : self.end]


def split_clauses(text: str) -> list[Clause]:
    """Split a text where a verb or question word may begin another request.

    What is found are places where a clause may begin; whether one does is for a model of intents to say.
    """
    if len(text) > MAX_CHARACTERS:
        return [Clause(0, len(text))]
    clauses, start = list[Clause](), 0
    for joint in _JOINT.finditer(text):
        if len(clauses) == MAX_CLAUSES - 1:
            break
        if len(text[start : joint.start()].split()) >= _MIN_WORDS and len(text[joint.end() :].split()) >= _MIN_WORDS:
            clauses.append(Clause(start, joint.start()))
            start = joint.end()
    return [*clauses, Clause(start, len(text))]
