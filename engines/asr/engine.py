"""Decides which sequences of a batch of requests are decoded, and answers every request."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engines.asr.alternatives import check_alternatives, rank_texts
from engines.asr.errors import AsrError
from engines.asr.sequences import SequenceStore
from engines.asr.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engines.asr.alternatives import ScoredText
    from engines.asr.hints import Hint, PhraseBias
    from engines.asr.search_ports import Alternative
    from engines.asr.word_times import TimedWord

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
        hints: What is likely to be said in this sequence; read at START.
        alternatives: How many alternatives are wanted, at least 1; read at START.
        word_times: It is wanted when the words were said; read at START.
    """

    sequence_id: int
    audio: NDArray[np.float32]
    start: bool = False
    end: bool = False
    decode: bool = False
    hints: tuple[Hint, ...] = ()
    alternatives: int = 1
    word_times: bool = False


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
    """

    transcript: str
    is_final: bool
    decoded_samples: int
    compute_ms: float
    alternatives: tuple[ScoredText, ...] = ()
    words: tuple[TimedWord, ...] = ()


class Recognizer(Protocol):
    """A model that transcribes whole utterances."""

    def transcribe(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        """Returns the tokens of each utterance, from all its audio.

        The hypothesis and the features that an utterance brings along make it faster and change nothing else.
        """

    def search(self, utterances: Sequence[Utterance], *, thorough: bool) -> list[list[Alternative]]:
        """Returns what each utterance may be, the best first, by its bias and the number of alternatives wanted.

        Without ``thorough`` only the best is wanted, and an approximation will do.
        """

    def bias(self, hints: tuple[Hint, ...]) -> PhraseBias:
        """Returns what ``hints`` make of a search."""

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Returns when the words of each utterance's hypothesis were said."""

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
                index: (request, utterance)
                for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True))
                if isinstance(utterance, Utterance) and self._is_due(request, utterance)
            }
            compute_ms = self._decode(list(due.values())) if due else 0.0
            timed = {
                index: utterance
                for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True))
                if isinstance(utterance, Utterance) and utterance.timed and utterance.tokens and request.end
            }
            words, timing_ms = self._time_words(timed)
            return [
                _result(
                    request,
                    utterance,
                    (compute_ms if index in due else 0.0) + (timing_ms if index in timed else 0.0),
                    words.get(index, ()),
                )
                for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True))
            ]
        finally:
            for request in requests:
                if request.end:
                    self._sequences.end(request.sequence_id)

    def _accept(self, request: AsrRequest) -> Utterance | AsrError:
        """Takes in the audio of a request; returns its utterance, or why the request is refused."""
        try:
            utterance = self._start(request) if request.start else self._sequences.get(request.sequence_id)
            self._sequences.append(utterance, request.audio)
        except AsrError as error:
            return error
        return utterance

    def _start(self, request: AsrRequest) -> Utterance:
        """Opens a sequence with its hints."""
        check_alternatives(request.alternatives)
        utterance = self._sequences.start(request.sequence_id)
        utterance.wanted = request.alternatives
        utterance.timed = request.word_times
        utterance.bias = self._recognizer.bias(request.hints) if request.hints else None
        return utterance

    def _is_due(self, request: AsrRequest, utterance: Utterance) -> bool:
        new = len(utterance) - utterance.decoded_samples
        if request.end or request.decode:
            return new > 0 or utterance.approximate
        return new >= self._partial_samples

    def _decode(self, due: Sequence[tuple[AsrRequest, Utterance]]) -> float:
        """Decodes utterances, those that are decoded in the same way in one batch; returns the milliseconds it took."""
        started = time.perf_counter()
        plain = [utterance for _, utterance in due if not utterance.searched]
        for utterance, tokens in zip(plain, self._recognizer.transcribe(plain) if plain else (), strict=True):
            self._note(utterance, tokens)
        for thorough in (False, True):
            searched = [
                utterance
                for request, utterance in due
                if utterance.searched and (request.end or request.decode) == thorough
            ]
            found = self._recognizer.search(searched, thorough=thorough) if searched else ()
            for utterance, alternatives in zip(searched, found, strict=True):
                self._note(utterance, list(alternatives[0].tokens))
                utterance.approximate = not thorough
                utterance.alternatives = self._texts(alternatives, utterance.wanted) if thorough else ()
        return (time.perf_counter() - started) * 1000

    def _time_words(self, timed: Mapping[int, Utterance]) -> tuple[dict[int, tuple[TimedWord, ...]], float]:
        """Finds when words were said; returns them by the keys of ``timed``, and the milliseconds it took."""
        if not timed:
            return {}, 0.0
        started = time.perf_counter()
        words = self._recognizer.time_words(list(timed.values()))
        return dict(zip(timed, words, strict=True)), (time.perf_counter() - started) * 1000

    def _note(self, utterance: Utterance, tokens: list[int]) -> None:
        utterance.tokens = tokens
        utterance.transcript = self._recognizer.text(tokens)
        utterance.decoded_samples = len(utterance)

    def _texts(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        texts = [(self._recognizer.text(found.tokens), found) for found in alternatives]
        return rank_texts(texts, wanted)


def _result(
    request: AsrRequest, utterance: Utterance | AsrError, compute_ms: float, words: tuple[TimedWord, ...]
) -> AsrResult | AsrError:
    if isinstance(utterance, AsrError):
        return utterance
    return AsrResult(
        utterance.transcript, request.end, utterance.decoded_samples, compute_ms, utterance.alternatives, words
    )


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
