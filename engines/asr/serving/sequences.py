"""The utterances that are being spoken, by correlation ID."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.asr.errors import InvalidAudioError, TooManySequencesError, UnknownSequenceError, UtteranceTooLongError
from engines.asr.serving.utterance import Utterance

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


MAX_SEQUENCES = 1024
"""Sequences that may be open at a time."""


class SequenceStore:
    """Open sequences, forgotten at their end or after the idle time-out."""

    def __init__(
        self,
        max_samples: int,
        idle_timeout_seconds: float,
        clock: Callable[[], float],
        max_sequences: int = MAX_SEQUENCES,
    ) -> None:
        """Take the limits and a monotonic clock in seconds."""
        self._max_samples = max_samples
        self._idle_timeout_seconds = idle_timeout_seconds
        self._clock = clock
        self._max_sequences = max_sequences
        self._utterances: dict[int, Utterance] = {}

    def __len__(self) -> int:
        return len(self._utterances)

    def start(self, sequence_id: int) -> Utterance:
        """Open a sequence; one that is open under the same ID is replaced.

        Raises:
            TooManySequencesError: there is no room for another.
        """
        if sequence_id not in self._utterances and len(self._utterances) >= self._max_sequences:
            raise TooManySequencesError(
                f"{self._max_sequences} sequences are open; end some of them, or try again in a moment."
            )
        now = self._clock()
        self._utterances[sequence_id] = utterance = Utterance(now, decoded_at_seconds=now)
        return utterance

    def get(self, sequence_id: int) -> Utterance:
        """Return an open sequence and notes that it was used.

        Raises:
            UnknownSequenceError: it was never started, has ended, or was idle for too long.
        """
        utterance = self._utterances.get(sequence_id)
        if utterance is None:
            raise UnknownSequenceError(
                f"Sequence {sequence_id} is not open: it was never started, has ended, or was idle for more than "
                f"{self._idle_timeout_seconds:g} s. Send its first request with START."
            )
        utterance.last_used_seconds = self._clock()
        return utterance

    def append(self, utterance: Utterance, samples: NDArray[np.float32]) -> None:
        """Add audio to an utterance, all of it or, when it is refused, none.

        Raises:
            InvalidAudioError: a sample is NaN or infinite.
            UtteranceTooLongError: the utterance would become longer than the longest allowed.
        """
        if not np.isfinite(samples).all():
            raise InvalidAudioError("AUDIO holds NaN or infinite samples; send finite samples between -1 and 1.")
        size = len(utterance) + len(samples)
        if size > self._max_samples:
            raise UtteranceTooLongError(
                f"The utterance would be {size} samples long; the longest is {self._max_samples}. "
                "END it and start another sequence."
            )
        utterance.append(samples)

    def end(self, sequence_id: int) -> None:
        """Forget a sequence, if it is open."""
        self._utterances.pop(sequence_id, None)

    def drop_idle(self) -> None:
        """Forget sequences that were idle for longer than the time-out."""
        oldest = self._clock() - self._idle_timeout_seconds
        for sequence_id in [i for i, u in self._utterances.items() if u.last_used_seconds < oldest]:
            del self._utterances[sequence_id]
