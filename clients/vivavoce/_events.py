"""What a conversation tells its caller: one frozen dataclass per event.

Times are in seconds. Positions in audio (`start_seconds`, `end_seconds`) count from the start of the conversation's
audio; positions in text (`start`, `end`) count Unicode code points, and `end` is exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from vivavoce._understood import IntentCandidate, Reading, UtteranceKind, Value

if TYPE_CHECKING:
    from collections.abc import Mapping


class EndReason(Enum):
    """What ended an utterance."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    SILENCE = "SILENCE"
    """The trailing silence was long enough."""
    REQUESTED = "REQUESTED"
    """The caller said so with `EndOfUtterance`."""
    HALF_CLOSE = "HALF_CLOSE"
    """The caller's audio came to its end."""


class ReplyStatus(Enum):
    """Whether a reply is whole."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    COMPLETE = "COMPLETE"
    """Every stage finished inside the budget."""
    PARTIAL = "PARTIAL"
    """Something is missing: `Reply.overran` names the stages that would have made the reply late."""
    DEGRADED = "DEGRADED"
    """A stage failed; a `Notice` before the reply says which and why."""


class Stage(Enum):
    """A part of the work on a turn."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    ASR = "ASR"
    """Speech recognition: audio to transcript."""
    NLU = "NLU"
    """Natural language understanding: transcript to intent and slots."""
    QA = "QA"
    """Question answering: transcript and documents to answer."""


class NoticeCode(Enum):
    """What a notice is about."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    STAGE_FAILED = "STAGE_FAILED"
    """A model failed on this turn; its part of the reply is missing."""
    NO_SPEECH = "NO_SPEECH"
    """`EndOfUtterance` came, but nobody had spoken."""


class GoingAwayReason(Enum):
    """Why the server ends a conversation."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    SHUTDOWN = "SHUTDOWN"
    """The server shuts down."""
    IDLE = "IDLE"
    """Nothing was sent for too long."""
    AGE = "AGE"
    """The conversation has lasted as long as one may."""


@dataclass(frozen=True, slots=True)
class Started:
    """The conversation was accepted."""

    conversation_id: str
    """Names the conversation in the server's logs."""


@dataclass(frozen=True, slots=True)
class SpeechBegan:
    """Somebody began to speak."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    start_seconds: float
    """Where the speech begins."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One text that may have been said."""

    text: str
    """The text."""
    confidence: float
    """How probable it is among all texts that were found, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """Words that were recognized. A transcript replaces the previous one of the same turn."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    text: str
    """Everything recognized of the utterance so far."""
    is_final: bool
    """False while the text may still change."""
    start_seconds: float
    """Where the utterance begins."""
    end_seconds: float
    """Up to where the text covers the audio."""
    alternatives: tuple[Alternative, ...] = ()
    """Of a final transcript, if alternatives were asked for: what may have been said, the best (`text`) first."""
    confidence: float | None = None
    """Of a final transcript: the confidence in `text`. None where only one text was looked for."""
    request_id: str = ""
    """Of a final transcript: name of the `EndOfUtterance` that ended the utterance; "" if none did."""


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The utterance is over."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    end_seconds: float
    """Where the last speech ends."""
    reason: EndReason
    """What ended it."""
    request_id: str = ""
    """Name of the `EndOfUtterance` that ended it; "" if none did."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What the speaker wants."""

    name: str
    """Name of the intent; `none` when nothing fits with enough confidence."""
    confidence: float
    """Calibrated probability of the most likely intent, 0 to 1."""
    kind: UtteranceKind = UtteranceKind.UNSPECIFIED
    """Whether a command, a question or a statement was said; `name` is `none` where no intent goes with that."""
    negated: bool = False
    """Whether what was said is denied, as in "don't turn on the lights"."""
    candidates: tuple[IntentCandidate, ...] = ()
    """The most likely intents, the best first, as many as `max_intents` asked for."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One detail of an intent."""

    name: str
    """Name of the slot."""
    value: str
    """The value in normal form: lower case, single spaces, no punctuation around it.

    Of a slot with a closed list of values, the one that was meant, as it stands there."""
    text: str
    """The value as it stands in the transcript."""
    start: int
    """Where `text` begins in the transcript."""
    end: int
    """Where `text` ends in the transcript."""
    resolved: Value | None = None
    """The date, time or amount that the slot means; None where it means none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A passage of one of the caller's documents that answers the question."""

    text: str
    """The passage as it stands in the document."""
    score: float
    """Probability that the passage is the answer, 0 to 1."""
    start: int
    """Where the passage begins in the document."""
    end: int
    """Where the passage ends in the document."""
    document_id: str
    """`Document.id` of the document that holds it."""


@dataclass(frozen=True, slots=True)
class StageLatency:
    """The time that one stage took."""

    stage: Stage
    """The stage; UNKNOWN where the SDK does not list it."""
    queue_seconds: float
    """Time spent waiting: for a free instance, in transport and in scheduling."""
    compute_seconds: float
    """Time that the model's engine computed."""
    name: str = ""
    """Name of the stage: `asr`, `nlu`, `qa`, or that of a stage which the server has besides."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Where the time of a reply went, as the server measured it."""

    total_seconds: float
    """From the end of the utterance to the sending of the reply."""
    stages: tuple[StageLatency, ...]
    """The stages that finished. A speculated stage ran before the end of the utterance: the sum may exceed the
    total."""

    def of(self, stage: Stage) -> StageLatency | None:
        """Returns the time that `stage` took, or None when it did not finish."""
        return next((entry for entry in self.stages if entry.stage is stage), None)


@dataclass(frozen=True, slots=True)
class Reply:
    """What was understood of one utterance, and the answer to it."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    transcript: str
    """What was said, or the text of a typed turn."""
    intent: Intent | None
    """What the speaker wants; None when the stage failed or did not finish inside the budget, or words are missing."""
    slots: tuple[Slot, ...]
    """The details of the intent, in the order in which they were said."""
    answer: Answer | None
    """The answer, when the documents hold one and it was found inside the budget."""
    status: ReplyStatus
    """Whether every stage finished inside the budget."""
    overran: tuple[Stage, ...]
    """The stages that did not finish inside the budget, as far as `Stage` lists them."""
    latency: Latency
    """Where the time went, as the server measured it."""
    speculated: bool
    """Whether the reply was worked out during the trailing silence."""
    client_latency_seconds: float | None = None
    """From the moment in which this side sent what completes the utterance to the arrival of the reply. None when that
    moment is not known: see `ReplyClock`."""
    model_versions: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The version of each engine (`asr`, `intent_slot`, `qa`) that served the turn, without those it had no use for."""
    request_id: str = ""
    """Name of the `TypedTurn` that is answered, or of the `EndOfUtterance` that ended the utterance; "" if none did."""
    readings: tuple[Reading, ...] = ()
    """What each part of the utterance asks for, in the order of the text; `intent` and `slots` are of the whole."""
    values: tuple[Value, ...] = ()
    """The dates, times, durations, amounts and numbers of the utterance, in the order of the text."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something went wrong, but the conversation goes on."""

    code: NoticeCode
    """What happened, for programs."""
    message: str
    """What happened and what to do, for people."""
    turn: int | None
    """Number of the turn that it concerns; None when it concerns none."""
    request_id: str = ""
    """Name of the `TypedTurn` or `EndOfUtterance` that it concerns; "" when it concerns none."""


@dataclass(frozen=True, slots=True)
class GoingAway:
    """The server will end the conversation soon."""

    reason: GoingAwayReason
    """Why."""
    grace_seconds: float
    """Time left before the conversation is ended."""


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The connection was lost and made anew; a `Started` follows.

    Positions and numbers of turns go on from before. A turn that was not answered yet begins again, as a rule under its
    number: what is told of it now replaces what was told before.
    """

    lost_seconds: float
    """How much of an unanswered utterance is lost, because it lasted longer than what is kept; 0 as a rule."""
    replayed_seconds: float
    """How much audio is sent again."""


Event: TypeAlias = Started | SpeechBegan | Transcript | SpeechEnded | Reply | Notice | GoingAway | Reconnected
"""Everything that a conversation tells its caller."""
