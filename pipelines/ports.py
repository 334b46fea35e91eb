"""What pipelines need of the models, as protocols and plain data. ``pipelines.triton`` implements them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a model's answer took.

    Attributes:
        queue_seconds: waiting, transport and scheduling.
        compute_seconds: the engine's own work.
    """

    queue_seconds: float
    compute_seconds: float

    @property
    def total_seconds(self) -> float:
        """Both together."""
        return self.queue_seconds + self.compute_seconds


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What recognition makes of a sequence so far.

    Attributes:
        text: the words.
        covered_samples: how many samples of the sequence the words cover.
        is_final: whether the sequence has ended, so that the text stays.
        timing: what the answer cost.
    """

    text: str
    covered_samples: int
    is_final: bool
    timing: Timing


class SpeechSequence(Protocol):
    """One utterance, or a part of a long one, under recognition."""

    async def send(self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool) -> Hypothesis:
        """Sends the next audio, float32 ``[samples]`` at 16 kHz; at most one call may be under way.

        Args:
            audio: may be empty.
            decode: ask for the text of all audio sent so far, now.
            end: nothing follows; the answer is final and the model forgets the sequence.

        Raises:
            ModelError: the model did not take it.
        """


class Recognizer(Protocol):
    """Speech recognition."""

    def open_sequence(self) -> SpeechSequence:
        """Begins a sequence. Nothing is sent before its first audio."""


@dataclass(frozen=True, slots=True)
class SlotSpan:
    """One slot that the model found: its name, and where it stands in the text (code points, end exclusive)."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class IntentPrediction:
    """What the intent and slot model says of a text."""

    intent: str
    confidence: float
    slots: tuple[SlotSpan, ...]
    timing: Timing


class IntentModel(Protocol):
    """Intent classification and slot filling."""

    async def predict(self, text: str) -> IntentPrediction:
        """Raises ModelError when the model does not answer."""


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Where a document answers a question.

    Attributes:
        start: first code point of the answer, or None when the document does not hold one.
        end: one past the last code point, or None.
        score: probability that the span is the answer.
        timing: what it cost.
    """

    start: int | None
    end: int | None
    score: float
    timing: Timing


class AnswerModel(Protocol):
    """Extractive question answering."""

    async def find(self, question: str, document: str) -> AnswerSpan:
        """Raises ModelError when the model does not answer."""


class Models(Protocol):
    """All the models of a conversation."""

    @property
    def recognizer(self) -> Recognizer:
        """Speech recognition."""

    @property
    def intents(self) -> IntentModel:
        """Intent classification and slot filling."""

    @property
    def answers(self) -> AnswerModel:
        """Extractive question answering."""
