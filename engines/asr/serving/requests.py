"""Requests, results and settings of the engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.asr.errors import InvalidLanguageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engines.asr.errors import AsrError
    from engines.asr.serving.recognizer import Hint, TimedWord
    from engines.asr.serving.utterance import ScoredText


AUTO = "auto"
"""Among the languages of a recognizer: it finds out which one is spoken."""


@dataclass(frozen=True, slots=True)
class AsrSettings:
    """Settings of sequences.

    Attributes:
        partial_interval_seconds: New audio after which a sequence is decoded without being asked to, while there is
            time enough; see :mod:`engines.asr.serving.partial_scheduling`.
        max_utterance_seconds: The longest utterance, at most what the recognizer takes; a margin of one second is
            added before audio is refused.
        idle_timeout_seconds: A sequence of which nothing was heard for so long is forgotten.
        workers: Threads that have requests answered at a time.
        languages: Codes of what the recognizer recognizes, its own choice first; ``auto`` stands for finding it out.
        translates: Whether it translates into English.
    """

    partial_interval_seconds: float = 0.4
    max_utterance_seconds: float = 30.0
    idle_timeout_seconds: float = 60.0
    workers: int = 1
    languages: tuple[str, ...] = ("en",)
    translates: bool = False

    def __post_init__(self) -> None:
        for name in ("partial_interval_seconds", "max_utterance_seconds", "idle_timeout_seconds"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number of seconds, not {value}.")


@dataclass(frozen=True, slots=True)
class AsrRequest:
    """One request for one sequence.

    Attributes:
        sequence_id: Correlation ID.
        audio: New samples, float32 ``[samples]``, 16 kHz mono, -1 to 1; may be empty.
        start: The sequence begins with this request.
        end: The sequence ends with this request.
        decode: Decode all that was heard, now.
        hints: What is likely to be said in this sequence; read at START.
        alternatives: How many alternatives are wanted, at least 1; read at START.
        word_times: It is wanted when the words were said; read at START.
        language: Code of the language to recognize; "": the recognizer's own choice; read at START.
        translate: A translation into English is wanted in place of the words; read at START.
        deadline_seconds: By `time.monotonic`: after it a text that is asked for is of less use. None: it never is.
        refusal: Why this START is refused, where that shows before the engine reads it.
    """

    sequence_id: int
    audio: NDArray[np.float32]
    start: bool = False
    end: bool = False
    decode: bool = False
    hints: tuple[Hint, ...] = ()
    alternatives: int = 1
    word_times: bool = False
    language: str = ""
    translate: bool = False
    deadline_seconds: float | None = None
    refusal: AsrError | None = None

    @property
    def is_asked(self) -> bool:
        """True if somebody waits for the text."""
        return self.end or self.decode


@dataclass(frozen=True, slots=True)
class AsrResult:
    """The answer to one request.

    Attributes:
        transcript: Hypothesis over everything that was decoded so far in this sequence.
        is_final: Whether the sequence has ended.
        decoded_samples: Samples of the sequence that ``transcript`` covers.
        compute_ms: Milliseconds that the batch took in which this request was decoded; 0 when nothing was.
        alternatives: What may have been said, the best (``transcript``) first, as far as it was looked for: empty
            without hints and with one alternative, and when the sequence was decoded only because of its new audio.
        words: When the words were said, where that was wanted and the transcript is final.
        language: Code of the language that is spoken, as far as it is known; "" otherwise.
    """

    transcript: str
    is_final: bool
    decoded_samples: int
    compute_ms: float
    alternatives: tuple[ScoredText, ...] = ()
    words: tuple[TimedWord, ...] = ()
    language: str = ""


def check_language(request: AsrRequest, settings: AsrSettings) -> None:
    """Raise InvalidLanguageError if a START asks for what the recognizer does not know."""
    if request.language and request.language not in settings.languages:
        raise InvalidLanguageError(
            f"LANGUAGE is {request.language!r}, which is not recognized: choose {', '.join(settings.languages)}."
        )
    if request.translate and not settings.translates:
        raise InvalidLanguageError("TRANSLATE is set, and this recognizer does not translate: leave it out.")
