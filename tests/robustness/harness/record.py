"""What one caller said and heard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import vivavoce

ORDERLY = ""
"""How a conversation has ended that came to its end."""


@dataclass(frozen=True, slots=True)
class Said:
    """One utterance, spoken or typed: it makes one turn.

    Attributes:
        code_word: a word of it that no other caller says.
        text: what is recognized of it undisturbed; of a typed one its text.
        is_typed: whether it was typed.
    """

    code_word: str
    text: str
    is_typed: bool = False


@dataclass(slots=True)
class Record:
    """One conversation.

    Attributes:
        caller: name of the caller.
        said: its utterances in order, one for each turn.
        events: what the server told, in order.
        ended: name of the error that ended the conversation; :data:`ORDERLY` for none.
        message: what the error says.
        seconds: how long the conversation lasted.
    """

    caller: str
    said: list[Said] = field(default_factory=list)
    events: list[vivavoce.Event] = field(default_factory=list)
    ended: str = ORDERLY
    message: str = ""
    seconds: float = 0.0
