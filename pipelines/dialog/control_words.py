"""What a turn says to the dialog itself: agreement and refusal, wait, repeat, cancel, help, goodbye."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from pipelines.dialog.phrases import Kind, read_phrases

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pipelines.dialog.agent.value_list import Word


class Control(enum.Enum):
    """What a caller asks of the dialog itself."""

    REPEAT = "repeat"
    CANCEL = "cancel"
    HELP = "help"
    WAIT = "wait"
    DONE = "done"
    GOODBYE = "goodbye"


class Assent(enum.Enum):
    """What a turn says to a question whether something is right.

    ``UNCLEAR`` is agreement with something beside it that was not understood: it carries nothing out.
    """

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


_CONTROLS = (
    (Kind.GOODBYE, Control.GOODBYE),
    (Kind.CANCEL, Control.CANCEL),
    (Kind.NO, None),
    (Kind.WAIT, Control.WAIT),
    (Kind.HELP, Control.HELP),
    (Kind.REPEAT, Control.REPEAT),
)
"""What counts first where a turn has several: "yes, no, wait" is a no, "okay, bye" is goodbye."""

_BETWEEN = frozenset(("a", "an", "and", "are", "at", "by", "for", "from", "in", "is", "it", "my", "of", "on", "one"))
_BESIDE_VALUES = _BETWEEN | {
    "our",
    "that",
    "that's",
    "the",
    "them",
    "this",
    "to",
    "will",
    "with",
    "it's",
    "be",
    "i",
    "me",
}
"""Words that say nothing beside a value that is said again: "yes, a table for three"."""
_ASKING = frozenset(
    ("is", "are", "was", "do", "does", "did", "can", "could", "what", "which", "how", "when", "where", "why", "who")
)
"""First words of questions: "is that right?" is no answer."""
_PLAIN = frozenset(
    ("yes", "yeah", "yep", "no", "nope", "nah", "okay", "ok", "sure", "correct", "right", "exactly", "not", "um", "uh")
)
_VAGUE_ACTS = frozenset(("do", "go", "make", "proceed", "continue", "carry"))
"""Beside a value they may change it or put something off: "do it tomorrow", "make it four"."""


def control_of(words: Sequence[Word]) -> Control | None:
    """Returns what a whole turn asks of the dialog; None: it is about something else."""
    kinds = {phrase.kind for phrase in read_phrases(words)}
    if Kind.UNREAD in kinds:
        return None
    found = next((control for kind, control in _CONTROLS if kind in kinds), None)
    if found is None and Kind.NO not in kinds and kinds & {Kind.COMPLETE, Kind.DONE} and Kind.YES not in kinds:
        return Control.DONE
    return found


def assent_of(words: Sequence[Word], repeated: Collection[str] = ()) -> Assent | None:
    """Returns what a turn says to a question whether something is right; None: neither yes nor no.

    Whatever denies, changes, defers or cancels makes it no agreement, wherever it stands. Agreement is agreement as a
    whole: each word is read, or stands in the agent's question.

    Args:
        words: of the turn.
        repeated: words of the question, and of what it asks about, which may be said again beside a yes.
    """
    phrases = read_phrases(words)
    kinds = {phrase.kind for phrase in phrases}
    if kinds & {Kind.NO, Kind.CANCEL}:
        return Assent.NO
    if not kinds & {Kind.YES, Kind.COMPLETE}:
        return None
    if kinds <= {Kind.YES, Kind.COMPLETE, Kind.FILLER}:
        return Assent.YES
    if not kinds <= {Kind.YES, Kind.COMPLETE, Kind.FILLER, Kind.UNREAD}:
        return Assent.UNCLEAR
    unread = [
        word.text for phrase in phrases if phrase.kind is Kind.UNREAD for word in words[phrase.start : phrase.end]
    ]
    is_vague = any(
        words[phrase.start].text in _VAGUE_ACTS for phrase in phrases if phrase.kind in {Kind.YES, Kind.COMPLETE}
    )
    is_repeated = bool(set(unread) & set(repeated)) and _BESIDE_VALUES.union(repeated).issuperset(unread)
    is_answer = is_repeated and not is_vague and words[0].text not in _ASKING
    return Assent.YES if is_answer else Assent.UNCLEAR


def is_refusal(words: Sequence[Word]) -> bool:
    """Whether a turn is nothing but a no: "no thanks", and not "no, set an alarm"."""
    kinds = {phrase.kind for phrase in read_phrases(words)}
    return bool(kinds & {Kind.NO}) and kinds <= {Kind.NO, Kind.FILLER, Kind.COMPLETE, Kind.DONE, Kind.YES}


def is_whole(words: Sequence[Word]) -> bool:
    """Whether each word of a turn steers the dialog."""
    return bool(words) and all(phrase.kind is not Kind.UNREAD for phrase in read_phrases(words))


def is_plain_answer(words: Sequence[Word]) -> bool:
    """Whether a turn is yes, no, or a wish to wait, in words that are no answer to a question for any words."""
    if not is_whole(words):
        return False
    kinds = {phrase.kind for phrase in read_phrases(words)}
    return Kind.WAIT in kinds or (kinds <= {Kind.YES, Kind.NO, Kind.FILLER} and words[0].text in _PLAIN)
