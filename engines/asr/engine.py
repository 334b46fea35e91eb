"""Decides which sequences of a batch of requests are decoded, and answers every request."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engines.asr.errors import AsrError
from engines.asr.sequences import SequenceStore
from engines.asr.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

_LIMIT_MARGIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class AsrSettings:
    """How the engine treats its sequences.

    Attributes:
        partial_interval_seconds: New audio after which a sequence is decoded without being asked to.
        max_utterance_seconds: The longest utterance; a margin of one second is added before audio is refused.
        idle_timeout_seconds: A sequence of which nothing was heard for so long is forgotten.
    """

    partial_interval_seconds: float = 0.4
    max_utterance_seconds: float = 30.0
    idle_timeout_seconds: float = 60.0

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
    """

    sequence_id: int
    audio: NDArray[np.float32]
    start: bool = False
    end: bool = False
    decode: bool = False


@dataclass(frozen=True, slots=True)
class AsrResult:
    """The answer to one request.

    Attributes:
        transcript: Hypothesis over everything that was decoded so far in this sequence.
        is_final: Whether the sequence has ended.
        decoded_samples: Samples of the sequence that ``transcript`` covers.
        compute_ms: Milliseconds that the batch took in which this request was decoded; 0 when nothing was.
    """

    transcript: str
    is_final: bool
    decoded_samples: int
    compute_ms: float


class Recognizer(Protocol):
    """A model that transcribes whole utterances."""

    def transcribe(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        """Returns the tokens of each utterance, from all its audio.

        The hypothesis and the features that an utterance brings along make it faster and change nothing else.
        """

    def text(self, tokens: Sequence[int]) -> str:
        """Returns the text of ``tokens``."""


class AsrEngine:
    """Sequences of audio in, transcripts out."""

    def __init__(
        self, recognizer: Recognizer, settings: AsrSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Takes the model, the settings, and a monotonic clock in seconds."""
        self._recognizer = recognizer
        self._partial_samples = round(settings.partial_interval_seconds * SAMPLE_RATE)
        self._sequences = SequenceStore(
            round((settings.max_utterance_seconds + _LIMIT_MARGIN_SECONDS) * SAMPLE_RATE),
            settings.idle_timeout_seconds,
            clock,
        )

    @property
    def open_sequences(self) -> int:
        """How many sequences the engine holds."""
        return len(self._sequences)

    def process(self, requests: Sequence[AsrRequest]) -> list[AsrResult | AsrError]:
        """Answers a batch of requests, one answer each, in order.

        All audio of the batch is taken in first, then everything that is due is decoded together.
        """
        self._sequences.drop_idle()
        answers: list[AsrResult | AsrError] = []
        for batch in _split_at_repeats(requests):
            answers += self._process_distinct(batch)
        return answers

    def _process_distinct(self, requests: Sequence[AsrRequest]) -> list[AsrResult | AsrError]:
        """Answers requests of sequences that are all different."""
        try:
            accepted = [self._accept(request) for request in requests]
            due = {
                index: utterance
                for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True))
                if isinstance(utterance, Utterance) and self._is_due(request, utterance)
            }
            compute_ms = self._decode(list(due.values())) if due else 0.0
            return [
                _result(request, utterance, compute_ms if index in due else 0.0)
                for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True))
            ]
        finally:
            for request in requests:
                if request.end:
                    self._sequences.end(request.sequence_id)

    def _accept(self, request: AsrRequest) -> Utterance | AsrError:
        """Takes in the audio of a request; returns its utterance, or why the request is refused."""
        try:
            if request.start:
                utterance = self._sequences.start(request.sequence_id)
            else:
                utterance = self._sequences.get(request.sequence_id)
            self._sequences.append(utterance, request.audio)
        except AsrError as error:
            return error
        return utterance

    def _is_due(self, request: AsrRequest, utterance: Utterance) -> bool:
        new = len(utterance) - utterance.decoded_samples
        return new > 0 and (request.end or request.decode or new >= self._partial_samples)

    def _decode(self, due: Sequence[Utterance]) -> float:
        """Decodes utterances in one batch; returns the milliseconds it took."""
        started = time.perf_counter()
        hypotheses = self._recognizer.transcribe(due)
        for utterance, tokens in zip(due, hypotheses, strict=True):
            utterance.tokens = tokens
            utterance.transcript = self._recognizer.text(tokens)
            utterance.decoded_samples = len(utterance)
        return (time.perf_counter() - started) * 1000


def _result(request: AsrRequest, utterance: Utterance | AsrError, compute_ms: float) -> AsrResult | AsrError:
    if isinstance(utterance, AsrError):
        return utterance
    return AsrResult(utterance.transcript, request.end, utterance.decoded_samples, compute_ms)


def _split_at_repeats(requests: Iterable[AsrRequest]) -> list[list[AsrRequest]]:
    """Splits requests, in order, so that no part has two of the same sequence."""
    parts: list[list[AsrRequest]] = [[]]
    seen: set[int] = set()
    for request in requests:
        if request.sequence_id in seen:
            parts.append([])
            seen.clear()
        seen.add(request.sequence_id)
        parts[-1].append(request)
    return parts
