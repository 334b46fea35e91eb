"""Lead of a language model: what it makes of a turn, for the dialog to act on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Wish:
    """An intent that the model has called as a tool.

    Attributes:
        intent: of the agent.
        slots: values that the call gives, each with how the agent says it; None: the value is taken away.
    """

    intent: str
    slots: Mapping[str, tuple[str, str] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lead:
    """Lead of a turn: wishes, or else words.

    Attributes:
        wishes: in the order of its calls.
        say: its words, which are said where it calls no intent.
    """

    wishes: tuple[Wish, ...] = ()
    say: str = field(default="", repr=False)
