"""Events of pauses before a turn is over; see `vivavoce._events`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """Judged pause in speech; comes again with each new judgement.

    The final transcript has the text of the last `SpeechPaused` of its turn, unless `SpeechResumed` came after it.
    """

    turn: int
    """Number of the turn within its conversation, from 1."""
    text: str
    """Everything that was said in it so far."""
    probability: float
    """How probable it is that the turn is over, 0 to 1."""
    start_seconds: float
    """Where the utterance begins."""
    end_seconds: float
    """Where its last speech ends."""
    silence_seconds: float
    """Silence heard since then."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        return {
            "event": "speech_paused",
            "turn": self.turn,
            "text": self.text,
            "probability": round(self.probability, 4),
            "start_s": round(self.start_seconds, 3),
            "end_s": round(self.end_seconds, 3),
            "silence_s": round(self.silence_seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """Speech goes on: what the last `SpeechPaused` told was not all."""

    turn: int
    """Number of the turn within its conversation, from 1."""
    start_seconds: float
    """Where it goes on."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        return {"event": "speech_resumed", "turn": self.turn, "start_s": round(self.start_seconds, 3)}
