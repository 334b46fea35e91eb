"""Spoken replies: how they are asked for, and what is told of them.

Times are in seconds, from the start of a reply's audio.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from vivavoce._speech_types import SPEECH_AUDIO, Pronunciation

if TYPE_CHECKING:
    from vivavoce._config import AudioFormat


@dataclass(frozen=True, slots=True)
class ReplyVoice:
    """Voice and format of spoken replies."""

    audio: AudioFormat = SPEECH_AUDIO
    """Format that the audio comes in, on one channel, 8,000 to 48,000 Hz; neither FLAC nor CONTAINER."""
    voice: str = ""
    """Name of the voice; "" for the default one."""
    speed: float = 1.0
    """How fast it is spoken, 0.5 to 2."""
    seed: int = 0
    """The same seed, text and settings give the same audio."""
    lexicon: tuple[Pronunciation, ...] = ()
    """How words are pronounced, at most 200."""
    lead_seconds: float | None = None
    """How far the audio is sent ahead of its playback, 0.1 to 10; None leaves it to the server, 0.25."""


@dataclass(frozen=True, slots=True)
class Interruption:
    """Rules for interrupting a spoken reply. None or empty: the server's choice."""

    disabled: bool = False
    """Nothing that is said or typed interrupts; `Conversation.cancel_reply` does. The rest must be left out."""
    shortest_speech_seconds: float | None = None
    """Shorter speech does not interrupt, 0 to 5."""
    ignore_backchannels: bool | None = None
    """Whether backchannels such as "mhm" and "okay", said alone, do not interrupt."""
    backchannels: tuple[str, ...] = ()
    """What counts as a backchannel, at most 100."""


class InterruptionReason(Enum):
    """Cause of an interruption."""

    UNKNOWN = "UNKNOWN"
    """Something that this version of the package does not know."""
    SPEECH = "SPEECH"
    """Somebody spoke."""
    TYPED = "TYPED"
    """A turn was typed."""
    CANCELLED = "CANCELLED"
    """The caller said so with `Conversation.cancel_reply`."""


@dataclass(frozen=True, slots=True)
class ReplyAudio:
    """The next piece of a spoken reply."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    audio: bytes
    """In the format that was asked for, at most 32 KiB; empty where the last piece adds none."""
    start_seconds: float
    """Where the piece begins."""
    is_last: bool
    """Whether nothing follows; an interrupted reply has no last piece."""
    first_audio_seconds: float | None = None
    """Of the first piece: time since the chunk with the last sound of speech was sent, or the typed turn; None where
    that is not known."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it: without the audio."""
        told: dict[str, Any] = {
            "event": "reply_audio",
            "turn": self.turn,
            "bytes": len(self.audio),
            "start_s": round(self.start_seconds, 3),
            "is_last": self.is_last,
        }
        if self.first_audio_seconds is not None:
            told["first_audio_ms"] = round(self.first_audio_seconds * 1_000, 1)
        return told


@dataclass(frozen=True, slots=True)
class _ReplyPosition:
    turn: int
    """Number of the turn whose reply is spoken."""
    position_seconds: float
    """Position in its audio, as far as the server knows."""

    _name: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        return {"event": self._name, "turn": self.turn, "position_s": round(self.position_seconds, 3)}


class ReplyHeld(_ReplyPosition):
    """Speech over a spoken reply: stop playing at once, and keep what is not played.

    `ReplyResumed` or `Interrupted` follows.
    """

    __slots__ = ()
    _name = "reply_held"


class ReplyResumed(_ReplyPosition):
    """End of speech over a reply that was no interruption: go on playing."""

    __slots__ = ()
    _name = "reply_resumed"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A spoken reply was stopped: what was not played of it is to be dropped."""

    turn: int
    """Number of the turn whose reply was spoken."""
    heard_seconds: float
    """How much of its audio was heard."""
    heard_text: str
    """What of `Reply.speech_text` was heard, about."""
    reason: InterruptionReason
    """What stopped it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        heard_s, reason = round(self.heard_seconds, 3), self.reason.value
        return {
            "event": "interrupted",
            "turn": self.turn,
            "heard_s": heard_s,
            "heard_text": self.heard_text,
            "reason": reason,
        }
