"""Moonshine tiny on onnxruntime: front end, encoder and decoder, each in batches.

Jeffries et al. 2024, "Moonshine: Speech Recognition for Live Transcription and Voice Commands". The three graphs are
built by ``modelkit.moonshine``; ``modelkit.moonshine_encoder`` and ``modelkit.moonshine_decoder`` describe their
inputs and outputs.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from concurrent.futures import wait
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engines.asr.moonshine.alignment import attention
from engines.asr.moonshine.decoder import BeamBatch, DecoderBatch, EncodedBatch, cross_queries
from engines.asr.moonshine.decoding import decode_greedily
from engines.asr.moonshine.drafting import MAX_ROWS, Drafter, drafting_pays
from engines.asr.moonshine.encoder import Encoder, frames_of, load_session
from engines.asr.moonshine.marks import without_doubled_marks, without_open_end
from engines.asr.moonshine.repetition import find_repetitions, without_loops
from engines.asr.moonshine.tokenizer import END_TOKEN, START_TOKEN, load_tokenizer
from engines.asr.moonshine.word_times import time_words, with_tidy_marks
from engines.asr.search.alternatives import rank_texts
from engines.asr.search.beams import search
from engines.asr.search.hints import BiasCache
from engines.asr.search.ports import NOTHING, SearchTask
from engines.asr.serving.batching import group_by_length
from engines.asr.serving.recognizer import HINTS_SECONDS
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from engines.asr.search.hints import PhraseBias
    from engines.asr.serving.recognizer import Alternative, Hint, ScoredText, TimedWord

_T = TypeVar("_T")

MIN_SAMPLES = SAMPLE_RATE // 10
"""Shorter utterances hold no word and have an empty transcript; the encoder itself needs 895 samples."""
FILES = ("front_end.onnx", "encoder.onnx", "decoder.onnx", "draft_decoder.onnx", "tokenizer.bin")

_BEAMS = 4
_PARTIAL_BEAMS = 2
# Tokens at the end of a text that may still change, which are searched again: about three words.
_OPEN_TOKENS = 6
# Speech has fewer tokens than this; more are a sign of a loop (the bound that Moonshine's authors recommend).
_TOKENS_PER_SECOND = 6.5
_EXTRA_TOKENS = 6
# Bounds of one batch: the cross attention takes 14 kB a frame, and the logits 131 kB a drafted token.
_MAX_DECODER_FRAMES = 4096
_MAX_DRAFTED_TOKENS = 512
# Less new speech has so few tokens that the exact decoder is as fast by itself.
_MIN_DRAFTED_SAMPLES = round(0.7 * SAMPLE_RATE)
_TRIAL_SECONDS = 4
_LOOP_PASSES = 3


class MoonshineRecognizer:
    """Transcribes English utterances, many at a time (``engines.asr.serving.recognizer.Recognizer``)."""

    def __init__(self, folder: Path, threads: int = 1, *, speculative: bool = True) -> None:
        """Loads the model.

        Args:
            folder: Holds ``FILES``.
            threads: Threads that work on one batch.
            speculative: Whether texts are drafted: by the last hypothesis of their utterance, and by a decoder in 8
                bits where this processor is faster with that.

        Raises:
            FileNotFoundError: a file is missing; the text says how to build it.
        """
        for name in FILES:
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name} is missing; build it with: python -m modelkit.moonshine")
        self._tokenizer = load_tokenizer(folder / "tokenizer.bin")
        self._speculative = speculative
        self._biases = BiasCache(self._tokenizer.vocabulary())
        self._no_bias = self._biases.get(()).result()
        front_end, encoder, self._decoder = (
            load_session(folder / f"{name}.onnx", threads) for name in ("front_end", "encoder", "decoder")
        )
        self._encoder = Encoder(front_end, encoder)
        self._drafter = self._load_drafter(folder / "draft_decoder.onnx", threads) if speculative else None

    def rank(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        """Returns the texts of alternatives, each once; those that differ in case or punctuation alone are one."""
        return rank_texts([(self.text(found.tokens), found) for found in alternatives], wanted)

    def text(self, tokens: Sequence[int]) -> str:
        """Returns the text of ``tokens``."""
        return without_open_end(without_doubled_marks(self._tokenizer.decode(tokens)))

    def bias(self, hints: tuple[Hint, ...]) -> Future[PhraseBias]:
        """Returns what ``hints`` make of the search; made once, in a thread of its own, and kept for a while."""
        return self._biases.get(hints)

    def transcribe(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        """Returns the tokens of each utterance, from all its audio.

        The hypothesis and the features that an utterance brings along make it faster and change nothing else.
        """
        return self._in_batches(utterances, self._transcribe_batch, [])

    def search(
        self, utterances: Sequence[Utterance], *, thorough: bool, hints_seconds: float = HINTS_SECONDS
    ) -> list[list[Alternative]]:
        """Returns what each utterance may be, the best first, by its own bias.

        Args:
            utterances: only what was made of them so far decides, without ``thorough``, what is questioned again.
            thorough: look at everything anew, with as many beams as it takes; otherwise with two, and only at the end
                of what was recognized before, as is enough for a text that may still change.
            hints_seconds: how long to wait for what is not ready of the biases; they are left out then.
        """
        # One caller's hints must not keep those waiting who are recognized with him, nor fail what they said.
        wait([utterance.bias for utterance in utterances if utterance.bias], hints_seconds)
        found: list[list[Alternative]] = [[] for _ in utterances]
        widths = [max(_BEAMS, utterance.wanted) if thorough else _PARTIAL_BEAMS for utterance in utterances]
        for width in set(widths):
            rows = [row for row, own in enumerate(widths) if own == width]
            decode = functools.partial(self._search_batch, width=width, thorough=thorough)
            results = self._in_batches([utterances[row] for row in rows], decode, [NOTHING])
            for row, alternatives in zip(rows, results, strict=True):
                found[row] = alternatives
        return found

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Returns when the words of each utterance's hypothesis were said."""
        return self._in_batches(utterances, self._time_batch, ())

    def _in_batches(
        self, utterances: Sequence[Utterance], decode: Callable[[Sequence[Utterance]], list[_T]], silence: _T
    ) -> list[_T]:
        """Decodes utterances in groups that fit into one decoder batch; those too short for a word are ``silence``."""
        results = [silence for _ in utterances]
        audible = [i for i, utterance in enumerate(utterances) if len(utterance) >= MIN_SAMPLES]
        self._encoder.extend([utterances[i] for i in audible])
        for batch in _decoder_batches([utterances[i] for i in audible]):
            rows = [audible[i] for i in batch]
            for row, result in zip(rows, decode([utterances[i] for i in rows]), strict=True):
                results[row] = result
        return results

    def _transcribe_batch(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        """Transcribes utterances that fit into one decoder batch."""
        limits = [token_limit(len(utterance)) for utterance in utterances]
        encoded = self._encoder.encode(utterances)
        drafts = self._drafts(utterances, encoded, limits)
        predictor = DecoderBatch(self._decoder, encoded, max(limits) + 1)
        hypotheses = decode_greedily(predictor, drafts, limits)
        return self._without_loops(utterances, [hypothesis.tokens for hypothesis in hypotheses])

    def _without_loops(self, utterances: Sequence[Utterance], texts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Takes out of texts, one an utterance, what is repeated there and was said once. Few texts repeat anything."""
        kept = [list(tokens) for tokens in texts]
        looked_at: Sequence[int] = range(len(kept))
        for _ in range(_LOOP_PASSES):
            words = {row: self._tokenizer.spoken_words(kept[row]) for row in looked_at}
            rows = [row for row in looked_at if find_repetitions(words[row])]
            if not rows:
                break
            weights = self._attention([utterances[row] for row in rows], [kept[row] for row in rows])
            shorter = [without_loops(kept[row], words[row], own) for row, own in zip(rows, weights, strict=True)]
            # Within what is left of a loop there may be a shorter one.
            looked_at = [row for row, tokens in zip(rows, shorter, strict=True) if len(tokens) < len(kept[row])]
            for row, tokens in zip(rows, shorter, strict=True):
                kept[row] = tokens
        return kept

    def _load_drafter(self, path: Path, threads: int) -> Drafter | None:
        session = load_session(path, threads)
        trial = Utterance()
        trial.append(np.zeros(_TRIAL_SECONDS * SAMPLE_RATE, np.float32))
        self._encoder.extend([trial])
        return Drafter(session) if drafting_pays(session, self._decoder, self._encoder.encode([trial])) else None

    def _drafts(
        self, utterances: Sequence[Utterance], encoded: EncodedBatch, limits: Sequence[int]
    ) -> Sequence[Sequence[int]]:
        """Returns what each utterance probably says."""
        known = [utterance.tokens if self._speculative else [] for utterance in utterances]
        news = max(len(utterance) - utterance.decoded_samples for utterance in utterances)
        if self._drafter is None or len(utterances) > MAX_ROWS or news < _MIN_DRAFTED_SAMPLES:
            return known
        return self._drafter.draft(encoded, known, limits)

    def _search_batch(self, utterances: Sequence[Utterance], width: int, *, thorough: bool) -> list[list[Alternative]]:
        """Searches utterances that fit into one decoder batch."""
        tasks = [
            SearchTask(
                self._ready_bias(utterance),
                token_limit(len(utterance)),
                utterance.wanted if thorough else 1,
                () if thorough else tuple(utterance.tokens[:-_OPEN_TOKENS]),
            )
            for utterance in utterances
        ]
        capacity = max(task.limit for task in tasks) + 1
        found = search(BeamBatch(self._decoder, self._encoder.encode(utterances), capacity, width), tasks, width)
        rows = [(utterance, text) for utterance, texts in zip(utterances, found, strict=True) for text in texts]
        kept = iter(self._without_loops([utterance for utterance, _ in rows], [text.tokens for _, text in rows]))
        return [[dataclasses.replace(text, tokens=tuple(next(kept))) for text in texts] for texts in found]

    def _ready_bias(self, utterance: Utterance) -> PhraseBias:
        bias = utterance.bias
        return bias.result() if bias and bias.done() and not bias.exception() else self._no_bias

    def _time_batch(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Finds when words were said, in utterances that fit into one decoder batch."""
        found = []
        weights = self._attention(utterances, [utterance.tokens for utterance in utterances])
        for utterance, own in zip(utterances, weights, strict=True):
            words = time_words(self._tokenizer.words(utterance.tokens), own, utterance.audio)
            found.append(with_tidy_marks(words))
        return found

    def _attention(self, utterances: Sequence[Utterance], texts: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Returns how much each token of texts, one an utterance, and their ends looked at each frame."""
        encoded = self._encoder.encode(utterances)
        lengths = np.array([len(tokens) + 1 for tokens in texts], np.int32)
        padded = np.full((len(texts), lengths.max()), END_TOKEN, np.int64)
        padded[:, 0] = START_TOKEN
        for row, tokens in zip(padded, texts, strict=True):
            row[1 : len(tokens) + 1] = tokens
        queries = cross_queries(self._decoder, encoded, padded, lengths)
        return [
            attention(
                [query[row, : lengths[row]] for query in queries], [key[row] for key in encoded.cross[::2]], frames
            )
            for row, frames in enumerate(frames_of(utterances))
        ]


def token_limit(samples: int) -> int:
    """Returns the most tokens that an utterance of so many samples may have."""
    return math.ceil(samples / SAMPLE_RATE * _TOKENS_PER_SECOND) + _EXTRA_TOKENS


def _decoder_batches(utterances: Sequence[Utterance]) -> Iterator[list[int]]:
    """Yields indices of utterances that are decoded together."""
    for group in group_by_length(frames_of(utterances), _MAX_DECODER_FRAMES, max_padding=1.0):
        steps = [len(utterances[i].tokens) + 1 for i in group]
        for part in group_by_length(steps, _MAX_DRAFTED_TOKENS, max_padding=1.0):
            yield sorted(group[i] for i in part)
