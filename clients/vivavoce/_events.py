"""Events of a conversation: one frozen dataclass per event.

Times are in seconds. Positions in audio (`start_seconds`, `end_seconds`) count from the start of the conversation's
audio. `to_dict` of every event returns what JSON can hold, with the keys that docs/command_line.md lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from vivavoce._pauses import SpeechPaused, SpeechResumed
from vivavoce._reply import Reply, Speaker
from vivavoce._spoken import Interrupted, ReplyAudio, ReplyHeld, ReplyResumed
from vivavoce._tools import ToolCall


class EndReason(Enum):
    """Cause of the end of an utterance."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    SILENCE = "SILENCE"
    """The trailing silence was long enough, for what the server thinks of it or by itself."""
    REQUESTED = "REQUESTED"
    """The caller said so with `EndOfUtterance`."""
    HALF_CLOSE = "HALF_CLOSE"
    """The caller's audio came to its end."""


class NoticeCode(Enum):
    """Subject of a notice."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    STAGE_FAILED = "STAGE_FAILED"
    """A model failed on this turn; its part of the reply is missing."""
    NO_SPEECH = "NO_SPEECH"
    """`EndOfUtterance` came, but nobody had spoken."""
    AUDIO_DAMAGED = "AUDIO_DAMAGED"
    """A part of the audio is damaged, or was cut off, and was left out; the rest is heard."""
    MODEL_RECOVERED = "MODEL_RECOVERED"
    """A model was lost while it worked on this turn, and does its work again: the reply is whole, but late."""
    TOOL_RESULT_IGNORED = "TOOL_RESULT_IGNORED"
    """A result of a tool was not taken: no such call waits for one, or it names what the agent does not have."""


class GoingAwayReason(Enum):
    """Reason why the server ends a conversation."""

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
    greeting: str = ""
    """What the agent says first, which is not spoken; "" for nothing."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        told = {"event": "started", "conversation_id": self.conversation_id}
        return told | ({"greeting": self.greeting} if self.greeting else {})


@dataclass(frozen=True, slots=True)
class SpeechBegan:
    """Beginning of speech."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    start_seconds: float
    """Beginning of the speech."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        return {"event": "speech_began", "turn": self.turn, "start_s": _rounded(self.start_seconds)}


@dataclass(frozen=True, slots=True)
class Alternative:
    """One text that may have been said."""

    text: str
    """The text."""
    confidence: float
    """How probable it is among all texts that were found, 0 to 1."""


@dataclass(frozen=True, slots=True)
class SpeakerSpan:
    """Speech of one speaker."""

    speaker: Speaker
    """Speaker of the span."""
    start_seconds: float
    """Beginning of the speech."""
    end_seconds: float
    """End of the speech."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """Recognized words; each transcript replaces the previous one of its turn."""

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
    speakers: tuple[SpeakerSpan, ...] = ()
    """Of a final transcript, if `diarization` was asked for: who speaks when, in order."""
    language: str = ""
    """Code of the language that was spoken, such as `de`; "" where the recognizer does not tell."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        told: dict[str, Any] = {
            "event": "transcript",
            "text": self.text,
            "is_final": self.is_final,
            "start_s": _rounded(self.start_seconds),
            "end_s": _rounded(self.end_seconds),
            "turn": self.turn,
        }
        if self.alternatives:
            alternatives = [{"text": one.text, "confidence": round(one.confidence, 4)} for one in self.alternatives]
            told["alternatives"] = alternatives
        if self.speakers:
            told["speakers"] = [
                one.speaker.to_dict() | {"start_s": _rounded(one.start_seconds), "end_s": _rounded(one.end_seconds)}
                for one in self.speakers
            ]
        if self.language:
            told["language"] = self.language
        return told | _named(self.request_id)


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
    silence_seconds: float | None = None
    """Silence after `end_seconds` that ended it; None where something else did, or an older server does not tell."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        end_s, reason = _rounded(self.end_seconds), self.reason.value
        told = {"event": "speech_ended", "turn": self.turn, "end_s": end_s, "reason": reason}
        silence = {} if self.silence_seconds is None else {"silence_s": _rounded(self.silence_seconds)}
        return told | _named(self.request_id) | silence


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

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        told = {"event": "notice", "code": self.code.value, "message": self.message, "turn": self.turn}
        return told | _named(self.request_id)


@dataclass(frozen=True, slots=True)
class GoingAway:
    """The server will end the conversation soon."""

    reason: GoingAwayReason
    """Why."""
    grace_seconds: float
    """Time left before the conversation is ended."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        return {"event": "going_away", "reason": self.reason.value, "grace_s": _rounded(self.grace_seconds)}


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

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        lost_s, replayed_s = _rounded(self.lost_seconds), _rounded(self.replayed_seconds)
        return {"event": "reconnected", "lost_s": lost_s, "replayed_s": replayed_s}


Event: TypeAlias = (
    Started
    | SpeechBegan
    | Transcript
    | SpeechPaused
    | SpeechResumed
    | SpeechEnded
    | Reply
    | Notice
    | GoingAway
    | Reconnected
    | ReplyAudio
    | ReplyHeld
    | ReplyResumed
    | Interrupted
    | ToolCall
)
"""Everything that a conversation tells its caller."""


def _named(request_id: str) -> dict[str, Any]:
    return {"request_id": request_id} if request_id else {}


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
