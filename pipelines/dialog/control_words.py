"""Control words of a turn: yes, no, wait, repeat, cancel, help, goodbye."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from pipelines.dialog.phrases import Kind, read_phrases
from pipelines.text.language import spoken_language

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pipelines.dialog.agent.value_list import Word


class Control(enum.Enum):
    """Request to the dialog itself."""

    RESTART = "restart"
    REPEAT = "repeat"
    CANCEL = "cancel"
    HELP = "help"
    WAIT = "wait"
    DONE = "done"
    GOODBYE = "goodbye"
    HUMAN = "human"
    ROBOT = "robot"
    SUMMARY = "summary"
    BACK = "back"
    GREETING = "greeting"
    THANKS = "thanks"


class Assent(enum.Enum):
    """Reply to a confirmation.

    ``UNCLEAR`` is agreement with something beside it that was not understood: it carries nothing out.
    """

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


_CONTROLS = (
    (Kind.GOODBYE, Control.GOODBYE),
    (Kind.HUMAN, Control.HUMAN),
    (Kind.CANCEL, Control.CANCEL),
    (Kind.RESTART, Control.RESTART),
    (Kind.ROBOT, Control.ROBOT),
    (Kind.SUMMARY, Control.SUMMARY),
    (Kind.BACK, Control.BACK),
    (Kind.NO, None),
    (Kind.WAIT, Control.WAIT),
    (Kind.HELP, Control.HELP),
    (Kind.REPEAT, Control.REPEAT),
)
"""What counts first where a turn has several: "yes, no, wait" is a no, "okay, bye" is goodbye."""

# fmt: off
_BESIDE_VALUES = frozenset((
    "a", "an", "and", "are", "at", "be", "by", "for", "from", "i", "in", "is", "it", "it's", "me", "my", "of", "on",
    "one", "our", "that", "that's", "the", "them", "this", "to", "will", "with",
))
"""Words that say nothing beside a value that is said again: "yes, a table for three"."""
_BESIDE_YES = frozenset((
    "a", "all", "am", "an", "and", "appointment", "are", "as", "be", "booking", "data", "detail", "details", "do",
    "does", "every", "everything", "for", "gave", "given", "got", "heard", "i", "i'd", "i'll", "i'm", "information",
    "is", "it", "it'd", "it'll", "it's", "its", "just", "me", "mine", "my", "of", "order", "our", "ours", "read",
    "request", "reservation", "said", "say", "shall", "should", "so", "sounds", "stuff", "summary", "that",
    "that'd", "that'll", "that's", "the", "these", "they're", "thing", "things", "this", "those", "told", "took",
    "understood", "us", "very", "way", "we", "we'd", "we'll", "we're", "whole", "will", "with", "would", "wrote",
    "you", "you'd", "you'll", "you're", "you've", "your",
))
"""Words that say nothing beside a yes: "those are the right details"."""
_ASKING = frozenset((
    "am", "are", "can", "could", "did", "do", "does", "has", "have", "is", "may", "must", "shall", "should", "was",
    "were", "will", "would",
))
_SUBJECTS = frozenset((
    "he", "i", "it", "my", "she", "that", "the", "there", "these", "they", "this", "those", "we", "you",
))
"""Subjects behind one of the words before ask, unless a subject stands before it: "okay, is that all?"."""
_UNFINISHED = frozenset(("a", "an", "and", "but", "for", "if", "my", "of", "or", "the"))
"""Words that no answer ends with."""
# fmt: on
_PLAIN = frozenset(
    ("yes", "yeah", "yep", "no", "nope", "nah", "okay", "ok", "sure", "correct", "right", "exactly", "not", "um", "uh")
)
_THAT_IS_IT = frozenset(("that's it", "that is it"))
_AGREEING = frozenset((Kind.YES, Kind.ACT, Kind.COMPLETE))
_NEUTRAL = frozenset((Kind.FILLER, Kind.THANKS))
_SURE = frozenset(("yes", "yeah", "yep", "yup", "correct", "right", "exactly"))
_VAGUE_ACTS = frozenset(("do", "go", "make", "proceed", "continue", "carry"))
"""Beside a value they may change it or put something off: "do it tomorrow", "make it four"."""


def control_of(words: Sequence[Word]) -> Control | None:
    """Return what a whole turn asks of the dialog; None: it is about something else."""
    kinds = {phrase.kind for phrase in read_phrases(words)}
    if Kind.UNREAD in kinds:
        return None
    if [word.text for word in words] in (["sorry"], ["excuse", "me"]):
        # As an answer it asks for the question.
        return Control.REPEAT
    found = next((control for kind, control in _CONTROLS if kind in kinds), None)
    if found is None and Kind.NO not in kinds and kinds & {Kind.COMPLETE, Kind.DONE} and Kind.YES not in kinds:
        return Control.DONE
    if not kinds - {Kind.FILLER, Kind.GREETING, Kind.THANKS}:
        return Control.GREETING if Kind.GREETING in kinds else Control.THANKS if Kind.THANKS in kinds else None
    return found


def leaves(words: Sequence[Word]) -> bool:
    """Return whether a turn ends in goodbye, whatever was said before it."""
    said = [phrase.kind for phrase in read_phrases(words) if phrase.kind not in _NEUTRAL]
    # "By" is how recognizers write the last word of "thank you, bye".
    return bool(said) and (said[-1] is Kind.GOODBYE or (len(words) > 1 and words[-1].text == "by"))


def is_done(words: Sequence[Word]) -> bool:
    """Return whether a turn says that nothing else is wanted: "great, that's all"."""
    phrases = read_phrases(words)
    kinds = {phrase.kind for phrase in phrases}
    told = {" ".join(word.text for word in words[phrase.start : phrase.end]) for phrase in phrases}
    is_told = bool(kinds & {Kind.COMPLETE, Kind.DONE} or told & _THAT_IS_IT)
    return is_told and kinds <= {Kind.COMPLETE, Kind.DONE, Kind.YES, Kind.NO, *_NEUTRAL}


def is_complete(words: Sequence[Word]) -> bool:
    """Return whether a turn ends in "that's all", whatever was said before it."""
    said = [phrase for phrase in read_phrases(words) if phrase.kind not in _NEUTRAL]
    if not said:
        return False
    last = " ".join(word.text for word in words[said[-1].start : said[-1].end])
    return said[-1].kind in {Kind.COMPLETE, Kind.DONE} or last in _THAT_IS_IT


def is_declined(words: Sequence[Word]) -> bool:
    """Return whether nothing else is wanted: "no, I have it all, thank you"."""
    kinds = {phrase.kind for phrase in read_phrases(words)}
    return is_done(words) or (kinds >= {Kind.NO, Kind.THANKS} and words[0].text in {"no", "nope", "nah"})


def is_thanks(words: Sequence[Word]) -> bool:
    """Return whether a turn is nothing but thanks: "great, thanks a lot"."""
    kinds = {phrase.kind for phrase in read_phrases(words)}
    return Kind.THANKS in kinds and kinds <= {Kind.YES, *_NEUTRAL}


def asks_for_human(words: Sequence[Word]) -> bool:
    """Return whether a person is asked for in a turn."""
    return any(phrase.kind is Kind.HUMAN and phrase.end - phrase.start > 2 for phrase in read_phrases(words))


def begins_to_wait(words: Sequence[Word]) -> bool:
    """Return whether a turn begins with a wait: "just a second, it's here"."""
    said = [phrase.kind for phrase in read_phrases(words) if phrase.kind is not Kind.FILLER]
    return bool(said) and said[0] is Kind.WAIT


def assent_of(words: Sequence[Word], repeated: Collection[str] = (), act: str = "") -> Assent | None:
    """Return the reply to a confirmation; None: neither yes nor no.

    Whatever denies, changes, defers or cancels makes it no agreement, wherever it stands. Agreement is agreement as a
    whole: each word is read, or says nothing beside a yes, or stands in the agent's question.

    Args:
        words: of the turn.
        repeated: words of the question, and of what it asks about, which may be said again beside a yes.
        act: verb of a question such as "shall I unlock the door?", which agrees by itself: "unlock it"; "": none.
    """
    phrases = read_phrases(words)
    kinds = {phrase.kind for phrase in phrases}
    if kinds & {Kind.NO, Kind.CANCEL, Kind.BACK}:
        return Assent.NO
    unread = {words[at].text for it in phrases if it.kind is Kind.UNREAD for at in range(it.start, it.end)}
    if act in unread and kinds <= {*_AGREEING, *_NEUTRAL, Kind.UNREAD} and unread <= _BESIDE_VALUES.union(repeated):
        return Assent.UNCLEAR if _asks(words) else Assent.YES
    if not kinds & _AGREEING:
        return None
    if Kind.DONE in kinds and words[0].text in _SURE:
        kinds -= {Kind.DONE}
    is_unfinished = phrases[-1].kind in {Kind.UNREAD, Kind.FILLER} and words[-1].text in _UNFINISHED
    if kinds <= {*_AGREEING, *_NEUTRAL} and not is_unfinished:
        return Assent.YES
    if is_unfinished or not kinds <= {*_AGREEING, *_NEUTRAL, Kind.UNREAD} or Kind.YES not in kinds or _asks(words):
        return Assent.UNCLEAR
    acts = [words[phrase.start].text for phrase in phrases if phrase.kind is Kind.ACT]
    is_repeated = bool(unread.intersection(repeated) - _BESIDE_VALUES) and unread <= _BESIDE_VALUES.union(repeated)
    is_read = is_repeated and _VAGUE_ACTS.isdisjoint(acts)
    return Assent.YES if is_read or (not acts and unread <= _BESIDE_YES) else Assent.UNCLEAR


def _asks(words: Sequence[Word]) -> bool:
    """Return whether a subject stands behind its verb."""
    said = ["", *(word.text for word in words)]
    return any(
        verb in _ASKING and subject in _SUBJECTS and before not in _SUBJECTS
        for before, verb, subject in zip(said, said[1:], said[2:], strict=False)
    )


def is_refusal(words: Sequence[Word]) -> bool:
    """Return whether a turn is only a no: "no thanks", not "no, set an alarm"."""
    kinds = {phrase.kind for phrase in read_phrases(words)}
    return bool(kinds & {Kind.NO}) and kinds <= {Kind.NO, Kind.COMPLETE, Kind.DONE, Kind.YES, *_NEUTRAL}


def is_whole(words: Sequence[Word]) -> bool:
    """Return whether each word of a turn is a control word."""
    return bool(words) and all(phrase.kind is not Kind.UNREAD for phrase in read_phrases(words))


def is_plain_answer(words: Sequence[Word]) -> bool:
    """Return whether a turn is yes, no or wait, and no free answer."""
    if not is_whole(words):
        return False
    kinds, language = {phrase.kind for phrase in read_phrases(words)}, spoken_language()
    return Kind.WAIT in kinds or (
        kinds <= {Kind.YES, Kind.NO, *_NEUTRAL} and words[0].text in (_PLAIN if language is None else language.plain)
    )
