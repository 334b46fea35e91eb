"""The utterances that are being spoken: audio, last result, and when each was last heard of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engines.asr.errors import InvalidAudioError, TooManySequencesError, UnknownSequenceError, UtteranceTooLongError


@dataclass(slots=True)
class Sequence:
    """One utterance.

    Attributes:
        last_used_seconds: The store's clock at the last request.
        tokens: Hypothesis over the first ``decoded_samples`` samples.
        transcript: Its text.
        decoded_samples: Samples that were decoded last time; 0 when nothing has been.
    """

    last_used_seconds: float
    tokens: list[int] = field(default_factory=list)
    transcript: str = ""
    decoded_samples: int = 0
    _buffer: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    _size: int = 0

    def __len__(self) -> int:
        """Returns the number of samples heard."""
        return self._size

    @property
    def audio(self) -> NDArray[np.float32]:
        """All samples heard, float32 ``[samples]``; a view that is valid until more is added."""
        return self._buffer[: self._size]

    def append(self, samples: NDArray[np.float32]) -> None:
        """Adds samples; the buffer doubles when it is full, so that adding costs the same at every length."""
        size = self._size + len(samples)
        if size > len(self._buffer):
            buffer = np.empty(max(size, 2 * len(self._buffer)), np.float32)
            buffer[: self._size] = self.audio
            self._buffer = buffer
        self._buffer[self._size : size] = samples
        self._size = size


class SequenceStore:
    """Open sequences by their correlation ID. A sequence is forgotten when it ends or when nothing was heard of it for long."""

    def __init__(
        self, max_samples: int, idle_timeout_seconds: float, clock: Callable[[], float], max_sequences: int = 1024
    ) -> None:
        """Takes the limits and a monotonic clock in seconds."""
        self._max_samples = max_samples
        self._idle_timeout_seconds = idle_timeout_seconds
        self._clock = clock
        self._max_sequences = max_sequences
        self._sequences: dict[int, Sequence] = {}

    def __len__(self) -> int:
        return len(self._sequences)

    def start(self, sequence_id: int) -> Sequence:
        """Opens a sequence; one that is open under the same ID is replaced.

        Raises:
            TooManySequencesError: there is no room for another.
        """
        if sequence_id not in self._sequences and len(self._sequences) >= self._max_sequences:
            raise TooManySequencesError(
                f"{self._max_sequences} sequences are open; end some of them, or try again in a moment."
            )
        self._sequences[sequence_id] = sequence = Sequence(self._clock())
        return sequence

    def get(self, sequence_id: int) -> Sequence:
        """Returns an open sequence and notes that it was used.

        Raises:
            UnknownSequenceError: it was never started, has ended, or was idle for too long.
        """
        sequence = self._sequences.get(sequence_id)
        if sequence is None:
            raise UnknownSequenceError(
                f"Sequence {sequence_id} is not open: it was never started, has ended, or was idle for more than "
                f"{self._idle_timeout_seconds:g} s. Send its first request with START."
            )
        sequence.last_used_seconds = self._clock()
        return sequence

    def append(self, sequence: Sequence, samples: NDArray[np.float32]) -> None:
        """Adds audio to a sequence, all of it or, when it is refused, none.

        Raises:
            InvalidAudioError: a sample is NaN or infinite.
            UtteranceTooLongError: the sequence would become longer than the longest utterance.
        """
        if not np.isfinite(samples).all():
            raise InvalidAudioError("AUDIO holds NaN or infinite samples; send finite samples between -1 and 1.")
        if len(sequence) + len(samples) > self._max_samples:
            raise UtteranceTooLongError(
                f"The utterance would be {len(sequence) + len(samples)} samples long; the longest is "
                f"{self._max_samples}. END it and start another sequence."
            )
        sequence.append(samples)

    def end(self, sequence_id: int) -> None:
        """Forgets a sequence, if it is open."""
        self._sequences.pop(sequence_id, None)

    def drop_idle(self) -> None:
        """Forgets the sequences of which nothing was heard for longer than the idle time-out."""
        oldest = self._clock() - self._idle_timeout_seconds
        for sequence_id in [i for i, s in self._sequences.items() if s.last_used_seconds < oldest]:
            del self._sequences[sequence_id]
