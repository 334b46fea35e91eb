"""Protocols and data of models; implemented by ``pipelines.models.triton``.

``due`` is a deadline everywhere: the time on the running loop's clock, in seconds, after which an answer is of no use,
so that a model may refuse to begin with it; None: no deadline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.models.languages import Languages


@dataclass(frozen=True, slots=True)
class Timing:
    """Duration of a model's answer.

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
class PhraseHint:
    """Something that is likely to be said.

    Attributes:
        phrase: a few words, or a whole sentence.
        boost: how strongly it is preferred, 0 to 100 decibels; None for what suits a phrase or a sentence.
    """

    phrase: str
    boost: float | None = None


@dataclass(frozen=True, slots=True)
class RecognitionOptions:
    """Options of recognition.

    Attributes:
        hints: what is likely to be said.
        alternatives: how many texts are wanted; 0 for none beside the best.
        word_times: whether it is wanted when the words of a final text were said.
        language: code of the language to recognize; "": the recognizer's own choice.
        translate: whether a translation into English is wanted in place of the words.
    """

    hints: tuple[PhraseHint, ...] = ()
    alternatives: int = 0
    word_times: bool = False
    language: str = ""
    translate: bool = False


NO_OPTIONS = RecognitionOptions()


@dataclass(frozen=True, slots=True)
class Alternative:
    """Alternative text with its probability among those found, 0 to 1."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Speaker:
    """Speaker of a conversation.

    Attributes:
        tag: number in order of appearance, from 1.
        name: of an enrolled voice that it sounds like; "" where that is not sure.
    """

    tag: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class TimedWord:
    """Word's time: samples ``start`` to ``end`` (exclusive), at 16 kHz.

    Attributes:
        text: the word as it stands in the text, with the punctuation around it.
        start: first sample of it.
        end: one past its last sample.
        confidence: how probable it is, 0 to 1; 0 where that is not known.
        speaker: who says it; None where speakers are not told apart.
    """

    text: str
    start: int
    end: int
    confidence: float = 0.0
    speaker: Speaker | None = None


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Recognition result of a sequence so far.

    Attributes:
        text: the words.
        covered_samples: how many samples of the sequence the words cover.
        is_final: whether the sequence has ended, so that the text stays.
        timing: what the answer cost.
        alternatives: what may have been said, the best (``text``) first, where that was looked for.
        words: when the words were said, in samples of the sequence, where the recognizer tells it.
        is_settled: whether ending the sequence here would tell nothing new.
        language: code of the language that is spoken, as far as it is known; "" otherwise.
    """

    text: str
    covered_samples: int
    is_final: bool
    timing: Timing
    alternatives: tuple[Alternative, ...] = ()
    words: tuple[TimedWord, ...] = ()
    is_settled: bool = False
    language: str = ""


class SpeechSequence(Protocol):
    """One utterance, or a part of a long one, under recognition."""

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        """Send the next audio, float32 ``[samples]`` at 16 kHz, one call at a time.

        Args:
            audio: may be empty.
            decode: ask for the text of all audio sent so far, now.
            end: nothing follows; the answer is final and the model forgets the sequence.
            due: deadline, see the module.

        Raises:
            ModelError: the model did not take it.
        """


class Recognizer(Protocol):
    """Speech recognition."""

    @property
    def languages(self) -> Languages:
        """Languages that it serves."""

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> SpeechSequence:
        """Begin a sequence. Nothing is sent before its first audio."""


@dataclass(frozen=True, slots=True)
class SlotSpan:
    """One slot that the model found.

    Attributes:
        name: the slot's name.
        start: first code point in the text.
        end: one past the last code point.
        value: of a slot with a closed list of values the one that is meant; "" of an open one.
    """

    name: str
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class IntentPrediction:
    """Result of the intent and slot model.

    Attributes:
        intent: name of the intent, "none" where none fits.
        confidence: probability of the most likely intent, 0 to 1.
        slots: its details.
        timing: what it cost.
        kind: ``command``, ``question`` or ``statement``; "" where the engine does not tell.
        negated: whether what is said is denied.
        candidates: the most likely intents with their probabilities, the best first; empty where the engine does not
            tell.
    """

    intent: str
    confidence: float
    slots: tuple[SlotSpan, ...]
    timing: Timing
    kind: str = ""
    negated: bool = False
    candidates: tuple[tuple[str, float], ...] = ()


class IntentModel(Protocol):
    """Intent classification and slot filling."""

    @property
    def hints(self) -> tuple[PhraseHint, ...]:
        """Phrase hints of the domain, as far as known."""

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        """Raise ModelError when the model does not answer."""


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Place of an answer in a document.

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

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        """Raise ModelError when the model does not answer."""


class PunctuationModel(Protocol):
    """Capitals and punctuation for texts that have none."""

    async def punctuate(self, texts: Sequence[str]) -> list[str]:
        """Write up to 64 texts; raise ModelError when the model does not answer."""


class Engines(Protocol):
    """All the models that a turn needs."""

    @property
    def recognizer(self) -> Recognizer:
        """Speech recognition."""

    @property
    def intents(self) -> IntentModel:
        """Intent classification and slot filling."""

    @property
    def answers(self) -> AnswerModel:
        """Extractive question answering."""

    def get(self, role: str, variant: str | None = None) -> Any:  # noqa: ANN401 - a model of any engine
        """Return the model of a role; see ``pipelines.models.contracts``.

        Args:
            role: what the model does.
            variant: which engine of the role; None: the one that was chosen, or the one that serves without a choice.
        """


class TurnModels(Engines, Protocol):
    """Versions of the models that one turn uses throughout."""

    @property
    def versions(self) -> Mapping[str, int]:
        """The version of each engine that the turn has used so far."""

    def release(self) -> None:
        """Say that the turn is over. May be called twice."""


class Models(Engines, Protocol):
    """All models; used directly, each request takes today's version."""

    def begin_turn(self, variants: Mapping[str, str] | None = None) -> TurnModels:
        """Keep today's versions for one turn, until it is released.

        Args:
            variants: the variant that is chosen for each role; a role that is left out has no choice.
        """
