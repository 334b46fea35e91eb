"""Events of a dialog; times are monotonic seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.understanding import Understanding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.dialog.lead import Lead, Wish

MAX_OFFERS = 10
"""Values that a check offers in place of another."""


@dataclass(frozen=True, slots=True)
class Began:
    """The conversation began.

    Attributes:
        now: time, in seconds.
        parameters: session parameters; those of the agent have defaults.
    """

    now: float
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resumed:
    """Continuation in another stream; a running fulfilment was cut off."""

    now: float


@dataclass(frozen=True, slots=True)
class Understood:
    """A turn of the caller is over and understood.

    Attributes:
        now: time, in seconds.
        text: what was said or typed.
        understanding: intent, slots and values of the text.
        answer: the sentence that answers it, from documents; "" where there is none.
        passage: text that the answer stands in.
        speaker: enrolled name of who speaks, "" where that is not sure; None: speakers are not told apart.
        today: date of the caller, ISO 8601; "": not known.
        lead: what a language model makes of it, as a whole or of one wish; None: the understanding counts.
        answer_score: probability that the answer is one, 0 to 1.
    """

    now: float
    text: str
    understanding: Understanding = field(default_factory=Understanding)
    answer: str = ""
    passage: str = ""
    speaker: str | None = None
    today: str = ""
    lead: Lead | Wish | None = None
    answer_score: float = 1.0


@dataclass(frozen=True, slots=True)
class Silence:
    """The caller said nothing for as long as ``Listen`` told."""

    now: float


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The caller spoke before the agent's words were played to the end."""

    now: float


@dataclass(frozen=True, slots=True)
class Dtmf:
    """The caller pressed keys: digits, ``*`` and ``#``."""

    now: float
    keys: str


@dataclass(frozen=True, slots=True)
class ParametersSet:
    """Session parameters change."""

    now: float
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Progressed:
    """Progress of a fulfilment, as :class:`Fulfilled`; "" says to wait."""

    now: float
    number: int
    say: str = ""


@dataclass(frozen=True, slots=True)
class Fulfilled:
    """A fulfilment is done.

    Attributes:
        now: time, in seconds.
        number: of the action ``Fulfil``; the result of another one is ignored.
        slots: slots that it changed, for the response.
        say: what is said in place of the response; "": the response.
        parameters: session parameters that it changed.
    """

    now: float
    number: int
    slots: Mapping[str, str] = field(default_factory=dict)
    say: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FulfilmentFailed:
    """A fulfilment failed; the other attributes are those of :class:`Fulfilled`.

    Attributes:
        ask_again: slot of the intent that is asked for anew, and all others stay; "": the intent ends.
        offers: values that it may get, as far as is known.
    """

    now: float
    number: int
    say: str = ""
    ask_again: str = ""
    offers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Late:
    """A turn of the caller is over, and takes long to be understood."""

    now: float


Event = (
    Began
    | Resumed
    | Understood
    | Silence
    | Interrupted
    | Dtmf
    | ParametersSet
    | Progressed
    | Fulfilled
    | FulfilmentFailed
    | Late
)
