"""What can happen to a conversation. Times are seconds on the conversation's clock, audio positions 16 kHz samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.models.ports import Hypothesis
    from pipelines.speech.synthesis import Mark
    from pipelines.stages.registry import PlannedStage, StageOutput
    from pipelines.vad.endpointing import EndpointingConfig


@dataclass(frozen=True, slots=True)
class Heard:
    """The next window of audio was judged.

    Attributes:
        probability: that of speech.
        at: when it came.
        is_background: whether the speech is a voice in the background: it ends an utterance as silence does.
    """

    probability: float
    at: float
    is_background: bool = False


@dataclass(frozen=True, slots=True)
class EndRequested:
    """The caller ended the utterance; ``audio_end`` counts the samples received so far."""

    audio_end: int
    at: float
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class HalfClosed:
    """The caller will send nothing more; ``audio_end`` counts the samples received in all."""

    audio_end: int
    at: float


@dataclass(frozen=True, slots=True)
class Stalled:
    """No audio has come for so long that a speaker's place in the recognizer should not be held for it."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The caller typed a turn."""

    text: str
    at: float
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Transcribed:
    """The recognizer answered for a segment."""

    segment: int
    hypothesis: Hypothesis


@dataclass(frozen=True, slots=True)
class RecognitionFailed:
    """The recognizer gave a segment up; ``message`` says why."""

    segment: int
    message: str


@dataclass(frozen=True, slots=True)
class RecognitionLost:
    """The recognizer was lost while it worked on a segment; it gets all audio of it again once it is back."""

    segment: int


@dataclass(frozen=True, slots=True)
class RecognitionResumed:
    """The recognizer is back, and has heard all audio of a segment again."""

    segment: int
    at: float


@dataclass(frozen=True, slots=True)
class StageLost:
    """A model was lost while a stage worked on a speculation; the stage begins anew once the model is back."""

    turn: int
    speculation: int
    stage: str


@dataclass(frozen=True, slots=True)
class StageResumed:
    """The model that a stage had lost is back, and the stage begins anew."""

    turn: int
    speculation: int
    stage: str
    at: float


@dataclass(frozen=True, slots=True)
class StageYielded:
    """A stage brought an output for a speculation of a turn's text; the last one is its result."""

    turn: int
    speculation: int
    stage: str
    output: StageOutput


@dataclass(frozen=True, slots=True)
class StageFinished:
    """A stage came to its end for a speculation of a turn's text."""

    turn: int
    speculation: int
    stage: str


@dataclass(frozen=True, slots=True)
class StageFailed:
    """A stage failed for a speculation of a turn's text; ``message`` says why."""

    turn: int
    speculation: int
    stage: str
    message: str


@dataclass(frozen=True, slots=True)
class PauseJudged:
    """The model has judged a pause; ``probability`` is that of the turn being over, None where it did not answer."""

    turn: int
    pause: int
    probability: float | None
    at: float


@dataclass(frozen=True, slots=True)
class Updated:
    """The caller holds the conversation differently from now on; what is None stays as it is."""

    endpointing: EndpointingConfig | None = None
    stages: tuple[PlannedStage, ...] | None = None


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The budget of a turn's reply is used up, or the time in which the reply may be completed."""

    turn: int


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The caller is gone, or the conversation must end at once."""


@dataclass(frozen=True, slots=True)
class SpeechSent:
    """A piece of a spoken reply went out: ``seconds`` of audio, and the sentences that were begun in it."""

    turn: int
    seconds: float
    at: float
    marks: tuple[Mark, ...] = ()
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class SpeechFailed:
    """A reply cannot be spoken, or not to its end; ``message`` says why."""

    turn: int
    message: str


@dataclass(frozen=True, slots=True)
class PlaybackReported:
    """The caller told how far a spoken reply was played."""

    turn: int
    seconds: float
    is_finished: bool
    at: float


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The caller wants nothing more of a turn's speech; turn 0: of what is spoken now."""

    turn: int
    at: float


@dataclass(frozen=True, slots=True)
class Prompted:
    """An agent says something by itself; ``outputs`` are the results of stages by name, as a turn has them."""

    outputs: Mapping[str, StageOutput]
    at: float


@dataclass(frozen=True, slots=True)
class AgentAwaited:
    """Whether an agent has work under way of whose end it will tell: the conversation does not end before."""

    is_awaited: bool


@dataclass(frozen=True, slots=True)
class DialogChanged:
    """A dialog has changed outside of turns: what was worked out on its former state is worked out again."""


SpeechEvent = SpeechSent | SpeechFailed | PlaybackReported | CancelRequested

Event = (
    Heard
    | EndRequested
    | HalfClosed
    | Stalled
    | Typed
    | Transcribed
    | RecognitionFailed
    | RecognitionLost
    | RecognitionResumed
    | StageLost
    | StageResumed
    | StageYielded
    | StageFinished
    | StageFailed
    | PauseJudged
    | Updated
    | DeadlinePassed
    | Abandoned
    | Prompted
    | AgentAwaited
    | DialogChanged
    | SpeechEvent
)
