"""Protocol between serving and a recognizer, and the plain data that both know.

Serving calls a recognizer with utterances that hold all their audio and a state of the recognizer's own. A model that
decodes an utterance anew for every text keeps in the state what it has computed of the beginning. A streaming model
keeps its caches and the position that they reach to, and works on the audio beyond it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from engines.asr.errors import InvalidHintsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from engines.asr.serving.utterance import ScoredText, Utterance

MAX_ALTERNATIVES = 10

DEFAULT_BOOST = -1.0
"""Stands for the boost that suits the kind of hint."""

HINTS_SECONDS = 0.3
"""A final text waits so long, counted from START, for hints that are not ready, and is then searched without them."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Something that is likely to be said.

    Attributes:
        text: its words; case and punctuation do not matter.
        boost: 0 to 100 decibels, or ``DEFAULT_BOOST``: 10 makes each piece that a word is spelled in ten times as
            likely, 20 a hundred times.
    """

    text: str
    boost: float = DEFAULT_BOOST


@dataclass(frozen=True, slots=True)
class Alternative:
    """One text that an utterance may be.

    Attributes:
        tokens: without start and end token.
        log_probability: by the model alone, the end token included.
        score: with what the hints give; what alternatives are ordered by.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float


@dataclass(frozen=True, slots=True)
class TimedWord:
    """Time of one word.

    Attributes:
        text: The word, with the punctuation around it.
        start: First sample of it in the utterance.
        end: One past its last sample.
    """

    text: str
    start: int
    end: int


class Recognizer(Protocol):
    """Batched recognizer; several threads may call it for different utterances.

    Attributes:
        max_seconds: Longest utterance, in seconds.
        is_streaming: True if a partial text covers whole chunks of new audio, each worked on once, and is never
            changed by later ones. False if every text is decoded anew from all audio.
    """

    @property
    def max_seconds(self) -> float:
        """Longest utterance, in seconds."""

    @property
    def is_streaming(self) -> bool:
        """True if partial texts cover whole chunks, and only grow."""

    def covered_samples(self, samples: int) -> int:
        """Return how many of an utterance's samples so far a partial text covers."""

    def transcribe(self, utterances: Sequence[Utterance], *, thorough: bool) -> list[list[int]]:
        """Return the tokens of each utterance.

        Args:
            utterances: The hypothesis and the state that they bring along make it faster and change nothing else.
            thorough: Transcribe all audio, to its last sample. Otherwise a streaming recognizer takes whole chunks in
                (``covered_samples``) and leaves the rest for later.
        """

    def search(
        self, utterances: Sequence[Utterance], *, thorough: bool, hints_seconds: float
    ) -> list[list[Alternative]]:
        """Return the alternatives of each utterance, the best first.

        Without ``thorough`` only the best is wanted, and an approximation will do. Biases that are not ready are waited
        for, ``hints_seconds`` in all, and then left out.
        """

    def bias(self, hints: tuple[Hint, ...]) -> Future[Any]:
        """Return what ``hints`` make of a search, which may not be ready yet."""

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Return when the words of each utterance's hypothesis were said."""

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of ``tokens``."""

    def rank(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        """Return distinct texts of alternatives, the best first, at most ``wanted``."""


def check_alternatives(wanted: int) -> None:
    """Raise InvalidHintsError if so many alternatives are not served."""
    if not 1 <= wanted <= MAX_ALTERNATIVES:
        raise InvalidHintsError(f"ALTERNATIVES is {wanted}; ask for 1 to {MAX_ALTERNATIVES}.")
