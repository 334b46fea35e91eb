"""Question within a turn: "hi, I'd like a lasagne, do you have pasta"."""

from __future__ import annotations

import re

from pipelines.text.clauses import MARKS

_LEAD_IN = (
    r"\W*(?:(?:and|but|so|um+|uh+|er+|hm+|ah|oh|i see|well|okay|ok|yes|yeah|sure|fine|great|good|no|actually|sorry|wait"
    r"|then|by the way|just|tell me|before that|one question|quick question|hi|hello|hey|right|alright|all right|please"
    r"|good (?:morning|afternoon|evening|day)|excuse me|listen|thanks|thank you|no wait)\b\W*)*"
)
_OPENERS = (
    r"(?:(?:(?:until|till|from|since|at|for|in|on|by|with|to|of|about) )?(?:what|which|how|when|where|who|whose|why)"
    r"|is|are|am|does|do|did|can|could|may|will|would|shall|should|must|have you|has|any|i (?:hope|wonder)"
    r"|i (?:was wondering|wanted to ask|(?:want|need) to know)|i['\u2019]d like to know)(?:['\u2019](?:s|re|ll|d))?\b"
)
ASKING = re.compile(rf"{_LEAD_IN}{_OPENERS}|.*\?\s*$", re.IGNORECASE | re.DOTALL)
"""Texts that ask something."""
OPENING = re.compile(rf"{_LEAD_IN}{_OPENERS}", re.IGNORECASE)
"""Texts that begin as questions do."""
PROPOSING = re.compile(
    rf"{_LEAD_IN}(?:what about|how about|(?:can|could|may|might|would|shall) (?:i|we|it|that|you)\b"
    r"|(?:is|are|would|will)\b.*\b(?:ok|okay|possible|free|fine|alright|all right|good|available|work)\b)",
    re.IGNORECASE,
)
"""Questions that propose a value: "would Friday be possible?"."""
CONTINUING = re.compile(r"\W*(?:and|or|what about|how about)\b", re.IGNORECASE)
"""How turns begin that go on with the one before: "and on Sundays?"."""
_BARE = re.compile(rf"{_LEAD_IN}(?={_OPENERS})", re.IGNORECASE)
_TAIL = re.compile(r"[\s,]+(?:by the way|anyway|actually|then|though|please)(?=\W*$)", re.IGNORECASE)
_MIN_WORDS = 3


def asks(text: str) -> bool:
    """Return whether a text asks something, in its last part too."""
    return ASKING.match(text) is not None or question_in(text) != text


def requests(text: str) -> bool:
    """Return whether a text asks for an act, or proposes something, by a question."""
    return PROPOSING.match(question_in(text)) is not None


def question_in(text: str) -> str:
    """Return the last question of a text; the text where it has none."""
    starts = [0, *(found.end() for found in MARKS.finditer(text))]
    asking = [
        start
        for start in starts
        if (bare := _BARE.match(text, start)) is not None and len(text[bare.end() :].split()) >= _MIN_WORDS
    ]
    if not asking:
        return text
    found = _BARE.match(text, asking[-1])
    question = _TAIL.sub("", text[found.end() if found is not None else asking[-1] :])
    return question[:1].upper() + question[1:]
