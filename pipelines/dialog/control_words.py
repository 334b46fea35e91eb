"""What callers say to steer a dialog: yes and no, repeat, cancel, help, goodbye."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.dialog.agent.value_list import Word


class Control(enum.Enum):
    """What a caller asks of the dialog itself."""

    REPEAT = "repeat"
    CANCEL = "cancel"
    HELP = "help"
    GOODBYE = "goodbye"


_POLITE = frozenset(
    ("please", "um", "uh", "uhm", "erm", "hmm", "well", "oh", "so", "and", "thanks", "thank", "you", "sorry")
)
_THAT = r"(?: (?:that|it|this|the question|everything|all|the (?:whole )?(?:order|thing)|my order))"
_CONTROLS = {
    Control.REPEAT: (
        rf"repeat{_THAT}?",
        rf"(?:can|could|would) you (?:say|repeat){_THAT}(?: again)?",
        rf"say{_THAT} again",
        "again",
        "once more",
        "pardon(?: me)?",
        "come again",
        "what did you say",
        "what was that",
        "i did(?:n't| not) (?:hear|catch|get) (?:that|you)",
    ),
    Control.CANCEL: (
        rf"(?:no )?(?:cancel|forget|stop|abort){_THAT}?",
        rf"(?:i want to|i'd like to|let's) (?:cancel|stop){_THAT}?",
        rf"(?:no )?never ?mind{_THAT}?",
        rf"forget about{_THAT}",
        "i(?:'ve| have)? changed my mind",
    ),
    Control.HELP: (
        "help(?: me)?",
        "i need help",
        "(?:can|could) you help(?: me)?",
        "what can (?:i|you) (?:say|do|ask|order|have)",
        "what are (?:my|the) (?:options|choices)",
        r"(?:what|which)(?: \w+){0,3} (?:do you have|are there|can i (?:have|choose))",
    ),
    Control.GOODBYE: (
        "good ?bye?",
        "bye?(?: bye?)?",
        "that(?:'s| is| will be|'ll be) (?:all|everything)",
        "nothing else",
        "see you(?: later)?",
    ),
}
_YES = (
    "yes|yeah|yep|yup|sure|correct|right|exactly|absolutely|definitely|certainly|of course|okay|ok|fine|perfect|indeed",
    "mhm|uh huh|go ahead|do it|please do|it is|i do",
    "(?:that|it|this)(?:'s| is) (?:it|right|correct|fine|good|perfect)",
    "(?:that )?sounds (?:good|great|right)",
)
_NO = (
    "no|nope|nah|wrong|incorrect|don't|do not|it(?:'s| is) not|it isn't",
    "not (?:really|quite|right|correct|that|yet)",
    r"(?:that|it|this)(?:'s| is) (?:not (?:it|right|correct|what i \w+)|wrong|incorrect)",
    "(?:that|it) isn't(?: right| correct)?",
)


def _any_of(phrases: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(phrases)})\b")


_CONTROL_PATTERNS = {control: _any_of(phrases) for control, phrases in _CONTROLS.items()}
_YES_PATTERN, _NO_PATTERN = _any_of(_YES), _any_of(_NO)


def control_of(words: Sequence[Word]) -> Control | None:
    """Returns what a whole turn asks of the dialog; None: it is about something else."""
    said = [word.text for word in words]
    while said and said[-1] in _POLITE:
        del said[-1]
    text = _without_beginning(said)
    return next((control for control, pattern in _CONTROL_PATTERNS.items() if pattern.fullmatch(text)), None)


def assent_of(words: Sequence[Word]) -> bool | None:
    """Returns whether a turn begins with yes or with no; None: with neither."""
    text = _without_beginning([word.text for word in words])
    if _NO_PATTERN.match(text):
        return False
    return True if _YES_PATTERN.match(text) else None


def _without_beginning(said: list[str]) -> str:
    begin = next((at for at, word in enumerate(said) if word not in _POLITE), len(said))
    return " ".join(said[begin:])
