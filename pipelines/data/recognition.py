"""Requests of recognition, and its results."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class SpeakerSpan:
    """Speech of one speaker: samples ``start`` to ``end`` (exclusive), at 16 kHz."""

    start: int
    end: int
    speaker: Speaker
