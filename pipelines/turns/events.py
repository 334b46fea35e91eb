"""Events of a conversation; times in seconds, positions in 16 kHz samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.recognition import Hypothesis, SpeakerSpan
    from pipelines.data.speech import Mark
    from pipelines.data.stages import PlannedStage, StageOutput
    from pipelines.vad.endpointing import EndpointingConfig


Window = tuple[float, bool]
"""A window of audio: the probability of speech, and whether that is a voice in the background, which ends an utterance
as silence does."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The next windows of audio were judged.

    Attributes:
        windows: one or more.
        at: when they came.
    """

    windows: Sequence[Window]
    at: float


@dataclass(frozen=True, slots=True)
class EndRequested:
    """End of the utterance by the caller, at sample ``audio_end``."""

    audio_end: int
    at: float
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class HalfClosed:
    """End of the caller's input, at sample ``audio_end``."""

    audio_end: int
    at: float


@dataclass(frozen=True, slots=True)
class Stalled:
    """Lack of audio; the recognizer's place should be freed."""


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
class ReadBySecond:
    """Answer of another recognizer for a segment up to sample ``stop``.

    Attributes:
        turn: the turn.
        segment: its segment.
        stop: one past the last sample that was read.
        hypothesis: what was recognized; None if nothing, or not in time.
    """

    turn: int
    segment: int
    stop: int
    hypothesis: Hypothesis | None


@dataclass(frozen=True, slots=True)
class RecognitionFailed:
    """The recognizer gave a segment up; ``message`` says why."""

    segment: int
    message: str


@dataclass(frozen=True, slots=True)
class RecognitionLost:
    """Loss of the recognizer of a segment, which will be sent again."""

    segment: int


@dataclass(frozen=True, slots=True)
class RecognitionResumed:
    """The recognizer is back, and has heard all audio of a segment again."""

    segment: int
    at: float


@dataclass(frozen=True, slots=True)
class StageLost:
    """Loss of a model during a stage, which will begin anew."""

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
    """Output of a stage on a turn's text; the last one is its result."""

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
    """Judgement of a pause: ``probability`` of the turn's end, or None."""

    turn: int
    pause: int
    probability: float | None
    at: float


@dataclass(frozen=True, slots=True)
class Updated:
    """Change of the configuration; None: as before."""

    endpointing: EndpointingConfig | None = None
    stages: tuple[PlannedStage, ...] | None = None
    reads_again: bool | None = None


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """End of a reply's budget, or of the time for its completion."""

    turn: int


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The caller is gone, or the conversation must end at once."""


@dataclass(frozen=True, slots=True)
class SpeechSent:
    """Sent piece of a spoken reply: ``seconds`` of audio, sentences begun."""

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
    """Cancellation of a turn's speech; turn 0: of the present one."""

    turn: int
    at: float


@dataclass(frozen=True, slots=True)
class DialogCommitted:
    """Step of the dialog that counts for a turn, as CommitDialog has asked."""

    turn: int
    step: DialogTurn


@dataclass(frozen=True, slots=True)
class Prompted:
    """Step of a dialog that no turn of the caller has caused.

    Attributes:
        step: it; where it changes the dialog, speculations are worked out again.
        outputs: the agent's words, as results of stages by name; empty for none.
        at: when it happened.
    """

    step: DialogTurn
    outputs: Mapping[str, StageOutput]
    at: float


@dataclass(frozen=True, slots=True)
class FulfilmentEnded:
    """End of a fulfilment under way, in whatever way; it kept the conversation open."""

    number: int


@dataclass(frozen=True, slots=True)
class SpeakersFound:
    """Speakers of a finished utterance; without spans they are not known."""

    turn: int
    spans: tuple[SpeakerSpan, ...]


SpeechEvent = SpeechSent | SpeechFailed | PlaybackReported | CancelRequested

Event = (
    Heard
    | EndRequested
    | HalfClosed
    | Stalled
    | Typed
    | Transcribed
    | ReadBySecond
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
    | DialogCommitted
    | Prompted
    | FulfilmentEnded
    | SpeakersFound
    | SpeechEvent
)
