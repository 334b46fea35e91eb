"""Decides which sequences of a batch of requests are decoded, and answers every request."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engines.asr.alternatives import check_alternatives, rank_texts
from engines.asr.errors import AsrError
from engines.asr.requests import AsrRequest, AsrResult, AsrSettings
from engines.asr.sequences import SequenceStore
from engines.asr.thinning import PartialTexts, Wish
from engines.asr.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from engines.asr.alternatives import ScoredText
    from engines.asr.hints import Hint, PhraseBias
    from engines.asr.search_ports import Alternative
    from engines.asr.word_times import TimedWord

_LIMIT_MARGIN_SECONDS = 1.0


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

    def bias(self, hints: tuple[Hint, ...]) -> Future[PhraseBias]:
        """Returns what ``hints`` make of a search, which may not be ready yet."""

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Returns when the words of each utterance's hypothesis were said."""

    def text(self, tokens: Sequence[int]) -> str:
        """Returns the text of ``tokens``."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A request that was accepted, and its utterance."""

    index: int
    request: AsrRequest
    utterance: Utterance

    @property
    def is_asked(self) -> bool:
        """Whether somebody waits for the text."""
        return self.request.end or self.request.decode

    @property
    def new_samples(self) -> int:
        return len(self.utterance) - self.utterance.decoded_samples

    @property
    def is_new(self) -> bool:
        """Whether decoding would tell something that is not known."""
        return self.new_samples > 0 or self.utterance.approximate

    @property
    def seconds(self) -> float:
        return len(self.utterance) / SAMPLE_RATE


class AsrEngine:
    """Sequences of audio in, transcripts out.

    Attributes:
        partials: Decides which texts that may still change are worked out, and counts them.
    """

    def __init__(
        self, recognizer: Recognizer, settings: AsrSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Takes the model, the settings, and a monotonic clock in seconds."""
        self.partials = PartialTexts(settings.partial_interval_seconds, clock)
        self._recognizer = recognizer
        self._clock = clock
        self._sequences = SequenceStore(
            round((settings.max_utterance_seconds + _LIMIT_MARGIN_SECONDS) * SAMPLE_RATE),
            settings.idle_timeout_seconds,
            clock,
        )

    @property
    def open_sequences(self) -> int:
        """How many sequences the engine holds."""
        return len(self._sequences)

    def process(self, requests: Sequence[AsrRequest]) -> Iterator[tuple[int, AsrResult | AsrError]]:
        """Answers a batch of requests.

        All audio of the batch is taken in first. What needs no decoding is answered at once, then comes what was asked
        for (DECODE, END), that which is searched with beams last, and then the texts that may still change.

        Yields:
            The index of a request and its answer, as soon as it is known; each request exactly once.
        """
        self._sequences.drop_idle()
        with self.partials.load.working():
            for first, batch in _split_at_repeats(requests):
                for index, answer in self._process_distinct(batch):
                    yield first + index, answer

    def _process_distinct(self, requests: Sequence[AsrRequest]) -> Iterator[tuple[int, AsrResult | AsrError]]:
        """Answers requests of sequences that are all different."""
        try:
            accepted = [self._accept(request) for request in requests]
            jobs = [
                _Job(index, request, utterance)
                for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True))
                if isinstance(utterance, Utterance)
            ]
            wanted = [job for job in jobs if job.is_asked and job.is_new]
            waiting = [job for job in jobs if not job.is_asked and job.utterance.hints_are_ready]
            partial = self._choose_partials(waiting, after_asked=bool(wanted))
            computed = {job.index for job in (*wanted, *partial)}
            for index, (request, utterance) in enumerate(zip(requests, accepted, strict=True)):
                if isinstance(utterance, AsrError):
                    yield index, utterance
                elif index not in computed:
                    yield index, self._finish(_Job(index, request, utterance), 0.0)
            for group, thorough in ((wanted, True), (partial, False)):
                for searched in (False, True):
                    same = [job for job in group if job.utterance.searched == searched]
                    yield from self._decode(same, searched=searched, thorough=thorough)
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

    def _choose_partials(self, jobs: Sequence[_Job], *, after_asked: bool) -> list[_Job]:
        """Returns those of the sequences that nobody waits for which are decoded all the same."""
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
        return [jobs[index] for index in self.partials.choose(wishes, after_asked=after_asked)]

    def _decode(self, jobs: Sequence[_Job], *, searched: bool, thorough: bool) -> Iterator[tuple[int, AsrResult]]:
        """Decodes utterances in one batch, all with a search or none, and answers for them."""
        if not jobs:
            return
        started = time.perf_counter()
        utterances = [job.utterance for job in jobs]
        if searched:
            self._search(utterances, thorough=thorough)
        else:
            for utterance, tokens in zip(utterances, self._recognizer.transcribe(utterances), strict=True):
                self._note(utterance, tokens)
        seconds = time.perf_counter() - started
        if not thorough:
            self.partials.learn(seconds, [job.seconds for job in jobs], searched=searched)
        for job in jobs:
            yield job.index, self._finish(job, 1000 * seconds)

    def _search(self, utterances: Sequence[Utterance], *, thorough: bool) -> None:
        found = self._recognizer.search(utterances, thorough=thorough)
        for utterance, alternatives in zip(utterances, found, strict=True):
            self._note(utterance, list(alternatives[0].tokens))
            utterance.approximate = not thorough
            utterance.alternatives = self._texts(alternatives, utterance.wanted) if thorough else ()

    def _finish(self, job: _Job, compute_ms: float) -> AsrResult:
        """Answers for an utterance that is decoded as far as it will be; tells when its words were said if it ended."""
        utterance = job.utterance
        words: tuple[TimedWord, ...] = ()
        if job.request.end and utterance.timed and utterance.tokens:
            started = time.perf_counter()
            (words,) = self._recognizer.time_words([utterance])
            compute_ms += 1000 * (time.perf_counter() - started)
        return AsrResult(
            utterance.transcript,
            job.request.end,
            utterance.decoded_samples,
            compute_ms,
            utterance.alternatives,
            words,
        )

    def _note(self, utterance: Utterance, tokens: list[int]) -> None:
        utterance.tokens = tokens
        utterance.transcript = self._recognizer.text(tokens)
        utterance.decoded_samples = len(utterance)
        utterance.decoded_at_seconds = self._clock()

    def _texts(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        texts = [(self._recognizer.text(found.tokens), found) for found in alternatives]
        return rank_texts(texts, wanted)


def _split_at_repeats(requests: Iterable[AsrRequest]) -> list[tuple[int, list[AsrRequest]]]:
    """Splits requests, in order, so that no part has two of the same sequence; returns where each part begins too."""
    parts: list[tuple[int, list[AsrRequest]]] = [(0, [])]
    seen: set[int] = set()
    for index, request in enumerate(requests):
        if request.sequence_id in seen:
            parts.append((index, []))
            seen.clear()
        seen.add(request.sequence_id)
        parts[-1][1].append(request)
    return parts
