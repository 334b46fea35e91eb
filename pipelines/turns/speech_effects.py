"""Effects on spoken replies, by turn, without audio."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpeechEffect:
    """Root of the effects on spoken replies."""


@dataclass(frozen=True, slots=True)
class PrepareSpeech(SpeechEffect):
    """Synthesize the first sentence of ``text``, for a possible reply."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class DropSpeech(SpeechEffect):
    """Forget what was prepared for this turn."""

    turn: int


@dataclass(frozen=True, slots=True)
class StartSpeech(SpeechEffect):
    """The reply of this turn went out: send the audio of ``text``."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class HoldSpeech(SpeechEffect):
    """Send no more of it for now."""

    turn: int


@dataclass(frozen=True, slots=True)
class ResumeSpeech(SpeechEffect):
    """Go on sending where it was held."""

    turn: int


@dataclass(frozen=True, slots=True)
class StopSpeech(SpeechEffect):
    """Send no more of it, and synthesize no more."""

    turn: int


@dataclass(frozen=True, slots=True)
class HurrySpeech(SpeechEffect):
    """Nothing can interrupt any more: send as fast as the caller reads."""
