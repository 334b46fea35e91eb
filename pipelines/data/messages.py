"""Messages of a conversation to its caller."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pipelines.data.stages import DIALOG, NLU, QA, SPEECH, StageResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.answers import Answer, AnswerSearch
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.recognition import Alternative, Speaker, SpeakerSpan, TimedWord, Timing
    from pipelines.data.speech import SpokenText
    from pipelines.data.stages import StageOutput
    from pipelines.data.understanding import Understanding


class EndReason(enum.Enum):
    """Cause of the end of an utterance."""

    SILENCE = "silence"
    REQUESTED = "requested"
    HALF_CLOSE = "half_close"


class Status(enum.Enum):
    """Completeness of a reply."""

    COMPLETE = "COMPLETE"
    PARTIAL = "PARTIAL"
    DEGRADED = "DEGRADED"


class NoticeCode(enum.Enum):
    """Subject of a notice."""

    STAGE_FAILED = "STAGE_FAILED"
    NO_SPEECH = "NO_SPEECH"
    AUDIO_DAMAGED = "AUDIO_DAMAGED"
    MODEL_RECOVERED = "MODEL_RECOVERED"
    TOOL_RESULT_IGNORED = "TOOL_RESULT_IGNORED"


class AwayReason(enum.Enum):
    """Reason why the server ends a conversation."""

    SHUTDOWN = "SHUTDOWN"
    IDLE = "IDLE"
    AGE = "AGE"


@dataclass(frozen=True, slots=True)
class SpeechBegan:
    """Beginning of speech, at sample ``start`` of the conversation (16 kHz)."""

    turn: int
    start: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """Recognized words between two samples of the conversation (16 kHz).

    Attributes:
        turn: number of the turn.
        text: the words.
        is_final: whether they stay as they are.
        start: first sample of the utterance.
        end: one past the last sample that the words cover.
        end_is_likely: of a transcript that is not final: whether the utterance is probably over.
        alternatives: of a final one: what may have been said, the best first, if that was asked for.
        confidence: how probable ``text`` is among what was found, 0 to 1; 0 where nothing else was looked for.
        words: when the words were said, in samples of the conversation, where the recognizer tells it.
        request_id: of a final one: the caller's name for the request that ended the utterance; "" if none did.
        end_probability: of one that is not final: how probable it is that the utterance is over, 0 to 1; 0 where that
            was not judged.
        language: code of the language that is spoken, as far as it is known; "" otherwise.
        speakers: of a final one: who speaks when; empty where speakers are not told apart.
    """

    turn: int
    text: str
    is_final: bool
    start: int
    end: int
    end_is_likely: bool = False
    alternatives: tuple[Alternative, ...] = ()
    confidence: float = 0.0
    words: tuple[TimedWord, ...] = ()
    request_id: str = ""
    end_probability: float = 0.0
    language: str = ""
    speakers: tuple[SpeakerSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """Judged pause in speech; comes again when judgement or text changes.

    Attributes:
        turn: number of the turn.
        text: everything that was said in it so far.
        probability: how probable it is that the turn is over, 0 to 1.
        start: first sample of the utterance (16 kHz).
        end: one past its last sample of speech.
        silence: samples of silence since then.
    """

    turn: int
    text: str
    probability: float
    start: int
    end: int
    silence: int

    def transcript(self) -> Transcript:
        """Return the pause as a transcript that is not final."""
        heard_to = self.end + self.silence
        return Transcript(self.turn, self.text, False, self.start, heard_to, end_probability=self.probability)


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """Speech after an announced pause, from sample ``start`` (16 kHz)."""

    turn: int
    start: int


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The utterance is over.

    Attributes:
        turn: number of the turn.
        end: one past its last sample of speech (16 kHz).
        reason: what ended it.
        request_id: the caller's name for the request that ended it; "" if none did.
        silence: samples of silence since ``end`` that ended it; 0 where something else did.
    """

    turn: int
    end: int
    reason: EndReason
    request_id: str = ""
    silence: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """Understanding of one turn, and the answer.

    Attributes:
        turn: number of the turn, from 1.
        transcript: what was said or typed.
        results: the results of the stages that have finished, by name.
        status: whether every stage finished.
        overran: names of the stages that were not ready when the budget ended; those of a completion as well.
        timings: what each finished stage cost, by name.
        ended_at_seconds: when the utterance was over, on the conversation's clock.
        speculated: whether the work was done before the utterance was over.
        model_versions: the version of each engine that the turn has used.
        request_id: the caller's name for the typed turn, or for the request that ended the utterance; "" if none did.
        recovered: whether it waited for a model that was lost meanwhile.
        completes: whether it is the whole reply, in place of an earlier one of the turn that was PARTIAL.
        speaker: who speaks most of the turn; None where that is not known, and of a typed turn.
    """

    turn: int
    transcript: str
    results: Mapping[str, StageOutput]
    status: Status
    overran: tuple[str, ...]
    ended_at_seconds: float
    speculated: bool = False
    timings: Mapping[str, Timing] = field(default_factory=dict)
    model_versions: Mapping[str, int] = field(default_factory=dict)
    request_id: str = ""
    recovered: bool = False
    completes: bool = False
    speaker: Speaker | None = None

    @property
    def understanding(self) -> Understanding | None:
        """Intent and slots; None when that stage did not finish."""
        return cast("Understanding | None", self.results.get(NLU))

    @property
    def answer(self) -> Answer | None:
        """The answer; None when there is none, or when that stage did not finish."""
        search = cast("AnswerSearch | None", self.results.get(QA))
        return search.answer if search else None

    @property
    def speech_text(self) -> str:
        """Spoken text of the reply, or the agent's words; "" for none."""
        spoken = cast("SpokenText | None", self.results.get(SPEECH))
        return spoken.text if spoken else self.dialog.text if self.dialog else ""

    @property
    def open_results(self) -> dict[str, Mapping[str, Any]]:
        """Results of stages that are not shipped, by the name of the stage."""
        return {name: found.data for name, found in self.results.items() if isinstance(found, StageResult)}

    @property
    def dialog(self) -> DialogTurn | None:
        """Effect of the turn on the dialog; None without a dialog, or without result."""
        return cast("DialogTurn | None", self.results.get(DIALOG))


@dataclass(frozen=True, slots=True)
class Prompt(Reply):
    """Words of an agent that no turn of the caller has asked for."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something went wrong, but the conversation goes on.

    Attributes:
        code: what happened, for programs.
        message: what happened, for people.
        turn: the turn that it concerns; 0 when it concerns none.
        request_id: the caller's name for the request that it concerns; "" when it concerns none.
    """

    code: NoticeCode
    message: str
    turn: int = 0
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class GoingAway:
    """The server ends the conversation in ``grace_seconds``."""

    reason: AwayReason
    grace_seconds: float


class InterruptionReason(enum.Enum):
    """Cause of an interruption."""

    SPEECH = "SPEECH"
    TYPED = "TYPED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class ReplyAudio:
    """The next piece of a spoken reply.

    Attributes:
        turn: number of the turn.
        audio: encoded as the conversation's config has it.
        start_seconds: where the piece begins in the reply's audio.
        is_last: whether nothing follows.
    """

    turn: int
    audio: bytes
    start_seconds: float
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class _ReplyPosition:
    turn: int
    position_seconds: float


class ReplyHeld(_ReplyPosition):
    """Speech over a spoken reply of a turn, held where its audio was heard to."""

    __slots__ = ()


class ReplyResumed(_ReplyPosition):
    """Continuation of a turn's held reply, from a position in its audio."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A spoken reply was stopped.

    Attributes:
        turn: number of the turn whose reply was spoken.
        heard_seconds: how much of its audio was heard.
        heard_text: what of its text was heard, about.
        reason: what stopped it.
    """

    turn: int
    heard_seconds: float
    heard_text: str
    reason: InterruptionReason


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The agent asks the caller's program to run a tool, once.

    Attributes:
        id: names the call among all calls of all dialogs.
        name: of the fulfilment.
        intent: that is fulfilled.
        arguments: values of its slots.
        deadline_seconds: time within which the result must come.
        parameters: session parameters.
    """

    id: str
    name: str
    intent: str
    arguments: Mapping[str, str] = field(repr=False)
    deadline_seconds: float
    parameters: Mapping[str, str] = field(default_factory=dict)


SpeechMessage = SpeechBegan | Transcript | SpeechPaused | SpeechResumed | SpeechEnded
Message = SpeechMessage | Reply | ReplyAudio | ReplyHeld | ReplyResumed | Interrupted | ToolCall | Notice | GoingAway
