"""The state of a dialog: plain records that can be stored, and never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Understood


SPEAKER = "speaker"
"""Session parameter that is the enrolled name of who spoke last, in agents that declare it."""


class Filled(Struct, frozen=True):
    """The value of a slot.

    Attributes:
        value: of the value list, ISO 8601, a decimal number, or words.
        said: how the agent says it.
    """

    value: str
    said: str

    def __repr__(self) -> str:
        """Return no value: it may be sensitive."""
        return "Filled(…)"


class Form(Struct, frozen=True):
    """An intent whose slots are being filled.

    Attributes:
        intent: its name.
        slots: those that have a value.
        asked: the slot that is asked for; "": none.
        confirming: whether the caller was asked if everything is right.
        changing: whether the caller was asked what to change.
        tries: how often a slot was asked for in vain.
        choices: values that the caller was asked to choose from, for an answer that meant several.
        items: those of the intent's list, with their slots.
        item: place of the one whose slots are asked for, which stand in ``slots`` meanwhile; -1: none.
        is_listed: whether the caller wants no further items.
        is_offered: whether ``choices`` are what a check offers in place of a value.
        checking: the check that runs; "": none.
        checked: by check, a mark of the values that it was asked about last.
        refusals: how often checks have refused values.
    """

    intent: str
    slots: dict[str, Filled] = field(default_factory=dict)
    asked: str = ""
    confirming: bool = False
    changing: bool = False
    tries: dict[str, int] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    items: tuple[dict[str, Filled], ...] = ()
    item: int = -1
    is_listed: bool = False
    is_offered: bool = False
    checking: str = ""
    checked: dict[str, str] = field(default_factory=dict)
    refusals: int = 0


class Context(Struct, frozen=True):
    """Context that an intent opened.

    Attributes:
        name: of the context.
        intent: that opened it.
        slots: of that intent.
        turns: of the caller for which it is still open.
        until: time at which it ends, in seconds; None: no limit.
    """

    name: str
    intent: str
    slots: dict[str, Filled]
    turns: int
    until: float | None = None


class Line(Struct, frozen=True):
    """Words of the agent or the caller.

    Attributes:
        text: words.
        is_caller: whether the caller said them, and not the agent.
    """

    text: str
    is_caller: bool

    def __repr__(self) -> str:
        """Return no words: they may be sensitive."""
        return "Line(…)"


class State(Struct, frozen=True):
    """All that a dialog must remember.

    Attributes:
        now: time of the last event, in seconds.
        parameters: session parameters.
        form: the intent under way.
        suspended: intents that a digression interrupted, the latest last.
        contexts: those that are open, the latest last.
        silences: how often in a row nothing was said.
        misses: how often in a row nothing was understood, outside of slots.
        unheard: whether the agent's last words were interrupted.
        said: the agent's last words.
        fulfilling: number of the fulfilment that runs; 0: none.
        held: turns of the caller that wait until it is done.
        wishes: further wishes of a turn, which wait until the one before is done.
        next_fulfilment: number of the next fulfilment.
        checks: how many of the fulfilments were checks, which do nothing.
        ended: how the dialog ended; "": it goes on.
        lines: what was said last, the latest last, where a language model of the agent is shown it.
        passage: text that the last turn's answer stands in, likewise.
        known: values that later intents begin with, by slot.
    """

    now: float = 0.0
    parameters: dict[str, str] = field(default_factory=dict)
    form: Form | None = None
    suspended: tuple[Form, ...] = ()
    contexts: tuple[Context, ...] = ()
    silences: int = 0
    misses: int = 0
    unheard: bool = False
    said: tuple[str, ...] = ()
    fulfilling: int = 0
    held: tuple[Understood, ...] = ()
    wishes: tuple[Understood, ...] = ()
    next_fulfilment: int = 1
    checks: int = 0
    ended: str = ""
    lines: tuple[Line, ...] = ()
    passage: str = ""
    known: dict[str, Filled] = field(default_factory=dict)

    @property
    def has_acted(self) -> bool:
        """True if anything was carried out."""
        return self.next_fulfilment - self.checks > 1
