"""One utterance while it is being spoken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future

    from numpy.typing import NDArray

SAMPLE_RATE = 16_000
"""Samples per second of all audio."""


@dataclass(frozen=True, slots=True)
class ScoredText:
    """One text that may have been said.

    Attributes:
        text: the text.
        log_probability: natural logarithm of its probability by the model alone, without what hints give.
        confidence: 0 to 1; how probable it is, hints included, among the texts that the search found.
    """

    text: str
    log_probability: float
    confidence: float


@dataclass(slots=True)
class Utterance:
    """Audio and hypotheses of an open utterance.

    Attributes:
        last_used_seconds: The clock when it was last heard of.
        bias: What is likely to be said, as soon as that is ready; None when nobody knows.
        hints_due_seconds: The clock from which on a final text does without what is not ready.
        wanted: How many alternatives are wanted.
        timed: Whether it is wanted when its words were said.
        language: Code of the language to recognize; "": the recognizer's own.
        translate: Whether a translation into English is wanted in place of the words.
        spoken_language: Code of the language that is spoken, where the recognizer tells it; "" otherwise.
        tokens: Hypothesis over the first ``decoded_samples`` samples; the draft of the next.
        transcript: Its text.
        decoded_samples: Samples that were decoded last time; 0 when nothing has been.
        committed_samples: Samples that a streaming recognizer has taken into ``state``.
        decoded_at_seconds: The clock when they were, or when the utterance began.
        approximate: Whether they were decoded in a way that does for a text which may still change.
        alternatives: What they may be, the best first, where that was looked for.
        state: The recognizer's own, such as what it has computed of the audio so far; None until it saw the utterance.
    """

    last_used_seconds: float = 0.0
    bias: Future[Any] | None = None
    hints_due_seconds: float = 0.0
    wanted: int = 1
    timed: bool = False
    language: str = ""
    translate: bool = False
    spoken_language: str = ""
    tokens: list[int] = field(default_factory=list)
    transcript: str = ""
    decoded_samples: int = 0
    committed_samples: int = 0
    decoded_at_seconds: float = 0.0
    approximate: bool = False
    alternatives: tuple[ScoredText, ...] = ()
    state: Any = None
    _buffer: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    _size: int = 0

    @property
    def searched(self) -> bool:
        """True where greedy decoding will not do."""
        return self.bias is not None or self.wanted > 1

    @property
    def hints_are_ready(self) -> bool:
        """True where a search need not wait for hints."""
        return self.bias is None or self.bias.done()

    def __len__(self) -> int:
        """Return the number of samples heard."""
        return self._size

    @property
    def audio(self) -> NDArray[np.float32]:
        """All samples, float32 ``[samples]``; a view valid until more is added."""
        return self._buffer[: self._size]

    def append(self, samples: NDArray[np.float32]) -> None:
        """Add samples to the buffer, which doubles when it is full."""
        size = self._size + len(samples)
        if size > len(self._buffer):
            buffer = np.empty(max(size, 2 * len(self._buffer)), np.float32)
            buffer[: self._size] = self.audio
            self._buffer = buffer
        self._buffer[self._size : size] = samples
        self._size = size
