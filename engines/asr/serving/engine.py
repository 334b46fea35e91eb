"""Engine: decodes sequences of a batch of requests, and answers each request."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.asr.errors import AsrError
from engines.asr.serving.partial_scheduling import PartialTexts, Wish, core_wait_seconds
from engines.asr.serving.recognizer import HINTS_SECONDS, check_alternatives
from engines.asr.serving.requests import AUTO, AsrRequest, AsrResult, AsrSettings, check_language
from engines.asr.serving.sequences import SequenceStore
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engines.asr.serving.recognizer import Recognizer, TimedWord

_LIMIT_MARGIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Job:
    """A request that was accepted, and its utterance."""

    index: int
    request: AsrRequest
    utterance: Utterance

    @property
    def new_samples(self) -> int:
        return len(self.utterance) - self.utterance.decoded_samples

    @property
    def is_new(self) -> bool:
        """True if decoding would tell something new."""
        return self.new_samples > 0 or self.utterance.approximate

    @property
    def wants_words(self) -> bool:
        """True if word times are wanted of the text, which is known."""
        return self.request.end and self.utterance.timed and bool(self.utterance.tokens)

    @property
    def seconds(self) -> float:
        return len(self.utterance) / SAMPLE_RATE

    def result(self, compute_ms: float, words: tuple[TimedWord, ...] = ()) -> AsrResult:
        """Return the answer, once the utterance is decoded as far as it will be."""
        utterance = self.utterance
        return AsrResult(
            utterance.transcript,
            self.request.end,
            utterance.decoded_samples,
            compute_ms,
            utterance.alternatives,
            words,
            utterance.spoken_language,
        )


_Decoded = tuple[_Job, float]
"""A job whose text is known, and the milliseconds that this took."""


class AsrEngine:
    """Sequences of audio in, transcripts out.

    Several threads may have requests answered at a time, of different sequences.

    Attributes:
        partials: Decides which texts that may still change are worked out, and counts them.
    """

    def __init__(
        self, recognizer: Recognizer, settings: AsrSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the model, the settings, and a monotonic clock in seconds.

        Raises:
            ValueError: the settings allow longer utterances than the model takes.
        """
        if settings.max_utterance_seconds > recognizer.max_seconds:
            raise ValueError(
                f"max_utterance_seconds must be at most {recognizer.max_seconds:g}, not "
                f"{settings.max_utterance_seconds:g}: the model hears no more at a time."
            )
        self.partials = PartialTexts(settings.partial_interval_seconds, settings.workers, clock)
        # Of the sequences, and of what is counted. Each utterance belongs to the one worker that answers for it.
        self._lock = threading.Lock()
        self._recognizer = recognizer
        self._settings = settings
        self._clock = clock
        self._sequences = SequenceStore(
            round((settings.max_utterance_seconds + _LIMIT_MARGIN_SECONDS) * SAMPLE_RATE),
            settings.idle_timeout_seconds,
            clock,
        )

    @property
    def open_sequences(self) -> int:
        """Number of sequences that the engine holds."""
        return len(self._sequences)

    def process(self, requests: Sequence[AsrRequest]) -> Iterator[tuple[int, AsrResult | AsrError]]:
        """Answer a batch of requests.

        All audio of the batch is taken in first. What needs no decoding is answered at once, then comes what was asked
        for (DECODE, END), that which is searched with beams last, and then the texts that may still change. When words
        were said is worked out after all texts that were asked for, but before hints are waited for.

        Yields:
            The index of a request and its answer, as soon as it is known; each request exactly once.
        """
        hints_due = self._clock() + HINTS_SECONDS
        with self._working():
            for first, batch in _split_at_repeats(requests):
                for index, answer in self._process_distinct(batch, hints_due):
                    yield first + index, answer

    @contextlib.contextmanager
    def _working(self) -> Iterator[None]:
        """Count the time in which a worker runs the body."""
        with self._lock:
            self._sequences.drop_idle()
            self.partials.load.begin()
        try:
            yield
        finally:
            with self._lock:
                self.partials.load.end()

    def _process_distinct(
        self, requests: Sequence[AsrRequest], hints_due: float
    ) -> Iterator[tuple[int, AsrResult | AsrError]]:
        """Answer requests of distinct sequences; new ones await hints to ``hints_due``."""
        try:
            with self._lock:
                accepted = [self._accept(request, hints_due) for request in requests]
                jobs = [
                    _Job(index, request, utterance)
                    for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True))
                    if isinstance(utterance, Utterance)
                ]
                wanted = [job for job in jobs if job.request.is_asked and job.is_new]
                waiting = [job for job in jobs if not job.request.is_asked and job.utterance.hints_are_ready]
                partial = self._choose_partials(waiting, beside=bool(wanted) or self.partials.load.working > 1)
            unready = {job.index for job in wanted if not job.utterance.hints_are_ready}
            computed = {job.index for job in (*wanted, *partial)}
            yield from ((index, error) for index, error in enumerate(accepted) if isinstance(error, AsrError))
            known = [(job, 0.0) for job in jobs if job.index not in computed]
            ready = self._decode([job for job in wanted if job.index not in unready], thorough=True)
            yield from self._answer(itertools.chain(known, ready))
            yield from self._answer(self._decode([job for job in wanted if job.index in unready], thorough=True))
            yield from self._answer(self._decode(partial, thorough=False))
        finally:
            with self._lock:
                for request in requests:
                    if request.end:
                        self._sequences.end(request.sequence_id)

    def _accept(self, request: AsrRequest, hints_due: float) -> Utterance | AsrError:
        """Take in a request's audio; return its utterance, or its refusal."""
        try:
            utterance = self._start(request, hints_due) if request.start else self._sequences.get(request.sequence_id)
            self._sequences.append(utterance, request.audio)
        except AsrError as error:
            return error
        return utterance

    def _start(self, request: AsrRequest, hints_due: float) -> Utterance:
        """Open a sequence with its hints; a refused START also ends an older one."""
        self._sequences.end(request.sequence_id)
        if request.refusal:
            raise request.refusal
        check_alternatives(request.alternatives)
        check_language(request, self._settings)
        utterance = self._sequences.start(request.sequence_id)
        utterance.hints_due_seconds = hints_due
        utterance.wanted = request.alternatives
        utterance.timed = request.word_times
        utterance.language, utterance.translate = request.language, request.translate
        own = request.language or self._settings.languages[0]
        utterance.spoken_language = "" if own == AUTO else own
        utterance.bias = self._recognizer.bias(request.hints) if request.hints else None
        return utterance

    def _choose_partials(self, jobs: Sequence[_Job], *, beside: bool) -> list[_Job]:
        """Return the sequences to decode although nobody waits for them."""
        if self._recognizer.is_streaming:
            # A chunk costs the same whenever it is taken in, and late ones pile up where a final text is waited for.
            due = [job for job in jobs if self._covered(job.utterance) > job.utterance.committed_samples]
            self.partials.decoded += len(due)
            return due
        now = self._clock()
        wishes = [
            Wish(
                job.new_samples / SAMPLE_RATE,
                job.seconds,
                now - job.utterance.decoded_at_seconds,
                job.utterance.searched,
            )
            for job in jobs
        ]
        return [jobs[index] for index in self.partials.choose(wishes, beside=beside)]

    def _answer(self, decoded: Iterable[_Decoded]) -> Iterator[tuple[int, AsrResult]]:
        """Answer as texts become known, requests for word times last."""
        timed: list[_Decoded] = []
        for job, compute_ms in decoded:
            if job.wants_words:
                timed.append((job, compute_ms))
            else:
                yield job.index, job.result(compute_ms)
        for job, compute_ms in timed:
            started = time.perf_counter()
            (words,) = self._recognizer.time_words([job.utterance])
            yield job.index, job.result(compute_ms + 1000 * (time.perf_counter() - started), words)

    def _decode(self, jobs: Sequence[_Job], *, thorough: bool) -> Iterator[_Decoded]:
        """Decode utterances in two batches: greedy, then searched."""
        for searched in (False, True):
            same = [job for job in jobs if job.utterance.searched == searched]
            if not same:
                continue
            started, waited = time.perf_counter(), core_wait_seconds()
            self._decode_batch([job.utterance for job in same], searched=searched, thorough=thorough)
            seconds, waited = time.perf_counter() - started, core_wait_seconds() - waited
            with self._lock:
                self.partials.note_wait(waited, seconds)
                if not thorough:
                    self.partials.learn(seconds, [job.seconds for job in same], searched=searched)
            yield from ((job, 1000 * seconds) for job in same)

    def _decode_batch(self, utterances: Sequence[Utterance], *, searched: bool, thorough: bool) -> None:
        if searched:
            self._search(utterances, thorough=thorough)
        else:
            texts = self._recognizer.transcribe(utterances, thorough=thorough)
            for utterance, tokens in zip(utterances, texts, strict=True):
                self._note(utterance, tokens, thorough=thorough)
                utterance.approximate = self._recognizer.is_streaming and not thorough

    def _search(self, utterances: Sequence[Utterance], *, thorough: bool) -> None:
        due = max(utterance.hints_due_seconds for utterance in utterances)
        found = self._recognizer.search(utterances, thorough=thorough, hints_seconds=max(0.0, due - self._clock()))
        for utterance, alternatives in zip(utterances, found, strict=True):
            self._note(utterance, list(alternatives[0].tokens), thorough=thorough)
            utterance.approximate = not thorough
            utterance.alternatives = self._recognizer.rank(alternatives, utterance.wanted) if thorough else ()

    def _note(self, utterance: Utterance, tokens: list[int], *, thorough: bool) -> None:
        utterance.committed_samples = self._covered(utterance)
        utterance.decoded_at_seconds = self._clock()
        covered = len(utterance) if thorough else utterance.committed_samples
        # After a text to the last sample, as at a pause, whole chunks of the same audio say less.
        if covered >= utterance.decoded_samples:
            utterance.tokens = tokens
            utterance.transcript = self._recognizer.text(tokens)
            utterance.decoded_samples = covered

    def _covered(self, utterance: Utterance) -> int:
        return self._recognizer.covered_samples(len(utterance))


def _split_at_repeats(requests: Iterable[AsrRequest]) -> list[tuple[int, list[AsrRequest]]]:
    """Split requests into parts of distinct sequences, with their offsets."""
    parts: list[tuple[int, list[AsrRequest]]] = [(0, [])]
    seen: set[int] = set()
    for index, request in enumerate(requests):
        if request.sequence_id in seen:
            parts.append((index, []))
            seen.clear()
        seen.add(request.sequence_id)
        parts[-1][1].append(request)
    return parts
