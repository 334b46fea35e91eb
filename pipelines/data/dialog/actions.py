"""Actions of a dialog, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.dialog.state import Line


@dataclass(frozen=True, slots=True)
class Say:
    """Say a text.

    Attributes:
        text: never empty.
        sensitive: whether it holds the value of a sensitive slot.
    """

    text: str
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Listen:
    """Wait for the caller: the last action, unless the dialog ends or is busy.

    Attributes:
        slot: the slot that is asked for; "": none.
        values: values that are likely to be said, for recognition.
        confirming: whether yes or no is expected.
        no_input_seconds: silence after which ``Silence`` is due; None: never.
    """

    slot: str = ""
    values: tuple[str, ...] = ()
    confirming: bool = False
    no_input_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Fulfil:
    """Carry out an intent, once; its result comes back as an event.

    Attributes:
        number: of the fulfilment in this dialog, for the result and against doing it twice.
        name: of the fulfilment.
        intent: that is fulfilled.
        slots: values by slot: those of the value list, ISO 8601, decimal numbers, or words.
        sensitive: slots whose values must not be logged.
        parameters: session parameters.
        lines: what was said last, the latest last, where a language model of the agent is shown it.
        passage: text that the turn's answer stands in, likewise.
        is_check: whether it checks values of a form that is being filled, and does nothing.
    """

    number: int
    name: str
    intent: str
    slots: Mapping[str, str] = field(repr=False)
    sensitive: frozenset[str] = frozenset()
    parameters: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    passage: str = field(default="", repr=False)
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The dialog is over: ``end``, or ``hand_over`` to a person."""

    reason: str


Action = Say | Listen | Fulfil | End
