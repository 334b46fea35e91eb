"""Moonshine tiny: texts, alternatives and word times, in batches.

Jeffries et al. 2024, "Moonshine: Speech Recognition for Live Transcription and Voice Commands". The networks run on
onnxruntime (``engines.asr.moonshine.networks``) or on a GPU (``engines.asr.gpu``). The graphs of the former are built
by ``engines.build.moonshine``; ``moonshine_encoder`` and ``moonshine_decoder`` beside it describe their inputs and
outputs.
"""

from __future__ import annotations

import dataclasses
import functools
from concurrent.futures import wait
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engines.asr.moonshine.alignment import attention
from engines.asr.moonshine.decoding import decode_greedily, token_limit
from engines.asr.moonshine.features import encoder_frames, feature_frames
from engines.asr.moonshine.marks import without_doubled_marks, without_open_end
from engines.asr.moonshine.networks import FILES as NETWORK_FILES
from engines.asr.moonshine.networks import OnnxNetworks
from engines.asr.moonshine.repetition import (
    MIN_LONG_FIGURES,
    find_repetitions,
    first_of_figures,
    without_loops,
    without_unsaid_figures,
)
from engines.asr.moonshine.vocabulary import END_TOKEN, START_TOKEN, load_tokenizer
from engines.asr.moonshine.word_times import time_words, with_tidy_marks
from engines.asr.search.alternatives import rank_texts
from engines.asr.search.beams import search
from engines.asr.search.hints import BiasCache
from engines.asr.search.ports import NOTHING, SearchTask
from engines.asr.serving.recognizer import HINTS_SECONDS
from engines.asr.serving.utterance import SAMPLE_RATE
from engines.session import ONNX_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from engines.accelerators.choice import Accelerator
    from engines.asr.moonshine.networks import Networks
    from engines.asr.search.hints import PhraseBias
    from engines.asr.serving.recognizer import Alternative, Hint, TimedWord
    from engines.asr.serving.utterance import ScoredText, Utterance
    from engines.asr.tokenizer import TokenizedWord

_T = TypeVar("_T")

MIN_SAMPLES = SAMPLE_RATE // 10
"""Shorter utterances hold no word and have an empty transcript; the encoder itself needs 895 samples."""
TOKENIZER = "tokenizer.bin"
FILES = (*NETWORK_FILES, TOKENIZER)

_BEAMS = 4
_PARTIAL_BEAMS = 2
# Tokens at the end of a text that may still change, which are searched again: about three words.
_OPEN_TOKENS = 6
_LOOP_PASSES = 3


class MoonshineRecognizer:
    """Recognizer of English (``engines.asr.serving.recognizer.Recognizer``).

    Attributes:
        max_seconds: With a second of margin, what the graphs have positions for
            (``engines.build.moonshine_graph.MAX_POSITIONS``).
        is_streaming: False: every text is decoded anew.
    """

    max_seconds = 48.0
    is_streaming = False

    def __init__(
        self,
        folder: Path,
        threads: int = 1,
        *,
        speculative: bool = True,
        networks: Networks | None = None,
        accelerator: Accelerator = ONNX_RUNTIME,
        workers: int = 1,
    ) -> None:
        """Load the model.

        Args:
            folder: Holds ``FILES``; with networks, the tokenizer will do.
            threads: Threads that work on one batch.
            speculative: Whether texts are drafted: by the last hypothesis of their utterance, and by a decoder in 8
                bits where this processor is faster with that.
            networks: What computes; None for onnxruntime.
            accelerator: What computes the front end and the encoder in place of onnxruntime.
            workers: Batches that are computed at a time.

        Raises:
            AcceleratorError: the accelerator cannot be used here.
            FileNotFoundError: a file is missing; the text says how to build it.
        """
        for name in FILES if networks is None else (TOKENIZER,):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name} is missing; build it with: python -m engines.build.moonshine")
        self._tokenizer = load_tokenizer(folder / TOKENIZER)
        self._speculative = speculative
        self._biases = BiasCache(self._tokenizer.vocabulary())
        self._no_bias = self._biases.get(()).result()
        self._networks = networks or OnnxNetworks(
            folder, threads, drafting=speculative, accelerator=accelerator, workers=workers
        )

    def rank(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        """Return the texts of alternatives, merged without case and punctuation."""
        return rank_texts([(self.text(found.tokens), found) for found in alternatives], wanted)

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of ``tokens``."""
        return without_open_end(without_doubled_marks(self._tokenizer.decode(tokens)))

    def bias(self, hints: tuple[Hint, ...]) -> Future[PhraseBias]:
        """Return the bias of ``hints``, built in a thread and cached."""
        return self._biases.get(hints)

    def covered_samples(self, samples: int) -> int:
        """Return ``samples``: every text covers all audio."""
        return samples

    def transcribe(self, utterances: Sequence[Utterance], *, thorough: bool = True) -> list[list[int]]:  # noqa: ARG002
        """Return the tokens of each utterance, from all its audio, ``thorough`` or not.

        The hypothesis and the features that an utterance brings along make it faster and change nothing else.
        """
        return self._in_batches(utterances, self._transcribe_batch, [])

    def search(
        self, utterances: Sequence[Utterance], *, thorough: bool, hints_seconds: float = HINTS_SECONDS
    ) -> list[list[Alternative]]:
        """Return what each utterance may be, the best first, by its own bias.

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
            results = self._in_batches([utterances[row] for row in rows], decode, [NOTHING], width)
            for row, alternatives in zip(rows, results, strict=True):
                found[row] = alternatives
        return found

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Return when the words of each utterance's hypothesis were said."""
        return self._in_batches(utterances, self._time_batch, ())

    def _in_batches(
        self,
        utterances: Sequence[Utterance],
        decode: Callable[[Sequence[Utterance]], list[_T]],
        silence: _T,
        beams: int = 1,
    ) -> list[_T]:
        """Decode utterances in batches; those too short for a word are ``silence``."""
        results = [silence for _ in utterances]
        audible = [i for i, utterance in enumerate(utterances) if len(utterance) >= MIN_SAMPLES]
        self._networks.extend([utterances[i] for i in audible])
        for batch in self._networks.batches([utterances[i] for i in audible], beams):
            rows = [audible[i] for i in batch]
            for row, result in zip(rows, decode([utterances[i] for i in rows]), strict=True):
                results[row] = result
        return results

    def _transcribe_batch(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        """Transcribe utterances that fit into one decoder batch."""
        limits = [token_limit(len(utterance)) for utterance in utterances]
        known = [utterance.tokens if self._speculative else [] for utterance in utterances]
        news = max(len(utterance) - utterance.decoded_samples for utterance in utterances)
        with self._networks.encoded(utterances) as encoded:
            drafts = self._networks.drafts(encoded, known, limits, news)
            hypotheses = decode_greedily(self._networks.greedy(encoded, max(limits) + 1), drafts, limits)
        return self._without_loops(utterances, [hypothesis.tokens for hypothesis in hypotheses])

    def _without_loops(self, utterances: Sequence[Utterance], texts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Remove false repetitions from texts, one an utterance."""
        kept = [list(tokens) for tokens in texts]
        looked_at: Sequence[int] = range(len(kept))
        for _ in range(_LOOP_PASSES):
            words = {row: self._tokenizer.spoken_words(kept[row]) for row in looked_at}
            rows = [row for row in looked_at if find_repetitions(words[row]) or self._ends_in_figures(kept[row])]
            if not rows:
                break
            weights = self._attention([utterances[row] for row in rows], [kept[row] for row in rows])
            shorter = [self._without_loop(kept[row], words[row], own) for row, own in zip(rows, weights, strict=True)]
            # Within what is left of a loop there may be a shorter one.
            looked_at = [row for row, tokens in zip(rows, shorter, strict=True) if len(tokens) < len(kept[row])]
            for row, tokens in zip(rows, shorter, strict=True):
                kept[row] = tokens
        return kept

    def _without_loop(
        self, tokens: Sequence[int], words: Sequence[TokenizedWord], weights: NDArray[np.float32]
    ) -> list[int]:
        said = without_unsaid_figures(tokens, self._pieces(tokens), weights)
        return said if len(said) < len(tokens) else without_loops(tokens, words, weights)

    def _ends_in_figures(self, tokens: Sequence[int]) -> bool:
        # Most texts have few figures: they are not taken apart.
        is_candidate = sum(map(str.isdecimal, self._tokenizer.decode(tokens))) >= MIN_LONG_FIGURES
        return is_candidate and first_of_figures(self._pieces(tokens)) < len(tokens)

    def _pieces(self, tokens: Sequence[int]) -> list[str]:
        return [self._tokenizer.decode([token]) for token in tokens]

    def _search_batch(self, utterances: Sequence[Utterance], width: int, *, thorough: bool) -> list[list[Alternative]]:
        """Search utterances that fit into one decoder batch."""
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
        with self._networks.encoded(utterances) as encoded:
            found = search(self._networks.beams(encoded, capacity, width), tasks, width)
        rows = [(utterance, text) for utterance, texts in zip(utterances, found, strict=True) for text in texts]
        kept = iter(self._without_loops([utterance for utterance, _ in rows], [text.tokens for _, text in rows]))
        return [[dataclasses.replace(text, tokens=tuple(next(kept))) for text in texts] for texts in found]

    def _ready_bias(self, utterance: Utterance) -> PhraseBias:
        bias = utterance.bias
        return bias.result() if bias and bias.done() and not bias.exception() else self._no_bias

    def _time_batch(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Find when words were said, in utterances that fit into one decoder batch."""
        found = []
        weights = self._attention(utterances, [utterance.tokens for utterance in utterances])
        for utterance, own in zip(utterances, weights, strict=True):
            words = time_words(self._tokenizer.words(utterance.tokens), own, utterance.audio)
            found.append(with_tidy_marks(words))
        return found

    def _attention(self, utterances: Sequence[Utterance], texts: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Return each token's attention over frames, texts' ends included."""
        found: dict[int, NDArray[np.float32]] = {}
        # There may be more texts than fit into one batch: several of each utterance.
        for rows in self._networks.batches(utterances, 1):
            weights = self._attention_of_batch([utterances[row] for row in rows], [texts[row] for row in rows])
            found |= zip(rows, weights, strict=True)
        return [found[row] for row in range(len(texts))]

    def _attention_of_batch(
        self, utterances: Sequence[Utterance], texts: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]]:
        """Do the same for utterances that fit into one decoder batch."""
        lengths = np.array([len(tokens) + 1 for tokens in texts], np.int32)
        padded = np.full((len(texts), lengths.max()), END_TOKEN, np.int64)
        padded[:, 0] = START_TOKEN
        for row, tokens in zip(padded, texts, strict=True):
            row[1 : len(tokens) + 1] = tokens
        frames = [encoder_frames(feature_frames(len(utterance))) for utterance in utterances]
        with self._networks.encoded(utterances) as encoded:
            queries = self._networks.cross_queries(encoded, padded, lengths)
            return [
                attention(
                    [query[row, : lengths[row]] for query in queries], self._networks.cross_keys(encoded, row), own
                )
                for row, own in enumerate(frames)
            ]
