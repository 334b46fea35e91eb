"""Effects: next actions of a conversation, in order, without waiting."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.turns.speech_effects import SpeechEffect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.messages import Message
    from pipelines.data.stages import StageOutput


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """Begin a sequence of the recognizer, for this turn and under this number."""

    turn: int
    segment: int


@dataclass(frozen=True, slots=True)
class SendAudio:
    """Send samples ``start`` to ``stop`` (exclusive); ``decode`` asks for the text."""

    segment: int
    start: int
    stop: int
    decode: bool = False


@dataclass(frozen=True, slots=True)
class CloseSegment:
    """Nothing follows in this segment: ask for its final text."""

    segment: int


@dataclass(frozen=True, slots=True)
class AbandonSegment:
    """End the sequence; its text is not wanted."""

    segment: int


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """Have another recognizer read samples ``start`` to ``stop`` (exclusive)."""

    turn: int
    segment: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class RunStage:
    """Run a stage on ``text``, with the results of the stages that it needs."""

    turn: int
    speculation: int
    stage: str
    text: str
    inputs: Mapping[str, StageOutput] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CancelStage:
    """Give up a stage that runs: nobody waits for it any more."""

    turn: int
    speculation: int
    stage: str


@dataclass(frozen=True, slots=True)
class CommitDialog:
    """Let a step of the dialog count that a turn's stages have worked out."""

    turn: int
    step: DialogTurn


@dataclass(frozen=True, slots=True)
class StartFulfilment:
    """Begin to carry out what the dialog asks for; FulfilmentEnded follows."""

    task: Fulfil


@dataclass(frozen=True, slots=True)
class CancelFulfilment:
    """End a fulfilment that the caller has called off."""

    number: int


@dataclass(frozen=True, slots=True)
class JudgePause:
    """Have a pause judged, by samples ``start`` to ``stop`` (exclusive) and text."""

    turn: int
    pause: int
    start: int
    stop: int
    text: str


@dataclass(frozen=True, slots=True)
class CancelJudgement:
    """Give up the judgement that runs: the pause is over."""


@dataclass(frozen=True, slots=True)
class SetDeadline:
    """Schedule DeadlinePassed at ``at``, replacing an earlier one of the turn."""

    turn: int
    at: float


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell the caller."""

    message: Message


class SpeculationFate(enum.Enum):
    """Fate of a speculation on the text of an unfinished utterance."""

    MADE = "made"
    HIT = "hit"
    """It is the final text: the work done for it counts."""
    RESUMED = "resumed"
    """It was dropped, because speech went on."""
    DIFFERED = "differed"
    """The final text is another, or a better one of the same pause was."""


@dataclass(frozen=True, slots=True)
class CountSpeculation:
    """Count what became of a speculation."""

    fate: SpeculationFate


@dataclass(frozen=True, slots=True)
class Finish:
    """Everything was said: end the stream."""


DialogEffect = CommitDialog | StartFulfilment | CancelFulfilment

Effect = (
    OpenSegment
    | SendAudio
    | CloseSegment
    | AbandonSegment
    | ReadAgain
    | RunStage
    | CancelStage
    | DialogEffect
    | JudgePause
    | CancelJudgement
    | SetDeadline
    | Emit
    | CountSpeculation
    | Finish
    | SpeechEffect
)


def joined(effects: Iterable[Effect]) -> list[Effect]:
    """Return the effects with adjacent audio merged."""
    kept: list[Effect] = []
    for effect in effects:
        last = kept[-1] if kept else None
        if (
            isinstance(effect, SendAudio)
            and isinstance(last, SendAudio)
            and (last.segment, last.stop, last.decode) == (effect.segment, effect.start, False)
        ):
            kept[-1] = SendAudio(effect.segment, last.start, effect.stop, effect.decode)
        else:
            kept.append(effect)
    return kept
