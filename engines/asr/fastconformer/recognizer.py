"""Streaming recognizer over an imported FastConformer."""

from __future__ import annotations

import dataclasses
from concurrent.futures import wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from engines.asr.fastconformer import ctc
from engines.asr.fastconformer.encoder import Chunk, Stream
from engines.asr.fastconformer.shape import FRAME_SECONDS
from engines.asr.fastconformer.transducer import Hypothesis
from engines.asr.search.alternatives import rank_texts
from engines.asr.search.hints import BiasCache
from engines.asr.serving.recognizer import HINTS_SECONDS, Alternative, TimedWord
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from engines.asr.fastconformer.encoder import Encoder
    from engines.asr.fastconformer.shape import Shape
    from engines.asr.fastconformer.transducer import Transducer
    from engines.asr.search.hints import PhraseBias
    from engines.asr.serving.recognizer import Hint
    from engines.asr.serving.utterance import ScoredText
    from engines.asr.tokenizer import Tokenizer

    Floats = NDArray[np.float32]

_T = TypeVar("_T")

Decoder = Literal["rnnt", "ctc"]

MAX_SECONDS = 3600.0
MAX_ANEW_SECONDS = 48.0
"""Longest utterance that is decoded anew for every text."""
MAX_ROWS = 16
"""Streams of one step: a final text waits for one step at most."""

_FRAME_SAMPLES = round(FRAME_SECONDS * SAMPLE_RATE)


@dataclass(slots=True)
class _Progress:
    """State of recognition of an utterance.

    Attributes:
        stream: state of the encoder.
        hypothesis: of the chunks that were read.
        last: best CTC token of the last frame.
        log_probabilities: CTC's, of each chunk, where alternatives or hints need them.
        frames: encoder frames of the tokens of the last text.
        features: of the whole utterance, where they are normalized over it.
    """

    stream: Stream = field(default_factory=Stream)
    hypothesis: Hypothesis = field(default_factory=Hypothesis)
    last: int = -1
    log_probabilities: list[Floats] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    features: Floats | None = None

    def fork(self) -> _Progress:
        """Return a copy that can be gone on with by itself."""
        return dataclasses.replace(
            self, hypothesis=self.hypothesis.fork(), log_probabilities=list(self.log_probabilities)
        )


class FastConformerRecognizer:
    """Recognizer that reads each chunk once, or all of them for every text.

    See :class:`engines.asr.serving.recognizer.Recognizer`.

    Args:
        shape: sizes of the network.
        encoder: runs its chunks.
        tokenizer: of its tokens.
        transducer: decodes them; None where there is CTC alone.
        ctc_head: logarithmic probabilities of tokens, float32 ``[frames, tokens + 1]`` of the encoder's
            ``[frames, width]``; None without one.
        decoder: what texts come from.
        prompts: prompt of each language of a network with prompts, by its code; "" for an utterance that names none.

    Attributes:
        max_seconds: Longest utterance, in seconds: its audio is kept, 4 MB a minute.
        is_streaming: False where features are normalized over the utterance, so that it is decoded anew.
    """

    def __init__(
        self,
        shape: Shape,
        encoder: Encoder,
        tokenizer: Tokenizer,
        *,
        transducer: Transducer | None,
        ctc_head: Callable[[Floats], Floats] | None,
        decoder: Decoder,
        prompts: Mapping[str, int] | None = None,
    ) -> None:
        self.is_streaming = not shape.normalizes
        self.max_seconds = MAX_SECONDS if self.is_streaming else MAX_ANEW_SECONDS
        self._shape = shape
        self._encoder = encoder
        self._tokenizer = tokenizer
        self._transducer = transducer if decoder == "rnnt" else None
        self._ctc = ctc_head
        self._prompts = prompts or {"": 0}
        self._biases = BiasCache(tokenizer.vocabulary())

    def covered_samples(self, samples: int) -> int:
        """Return the samples that the whole chunks of so many hold."""
        if not self.is_streaming:
            return samples
        return self._shape.samples_until(self._shape.whole_chunks(samples))

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of ``tokens``."""
        return self._tokenizer.decode(tokens)

    def bias(self, hints: tuple[Hint, ...]) -> Future[PhraseBias]:
        """Return the bias of ``hints``, built in a thread and cached."""
        return self._biases.get(hints)

    def rank(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        """Return the texts of alternatives, merged without case and punctuation."""
        return rank_texts([(self.text(found.tokens), found) for found in alternatives], wanted)

    def transcribe(self, utterances: Sequence[Utterance], *, thorough: bool) -> list[list[int]]:
        """Return the tokens of each utterance; see ``Recognizer.transcribe``."""
        self._read_whole_chunks(utterances)
        if self.is_streaming and not thorough:
            return [list(_progress(utterance).hypothesis.tokens) for utterance in utterances]
        return [ended.hypothesis.tokens for ended in self._read_ends(utterances)]

    def decode(self, encoded: Sequence[Floats]) -> list[list[int]]:
        """Return the tokens of encoder frames, ``[frames, width]`` an utterance."""
        rows = [(Utterance(), _Progress()) for _ in encoded]
        self._follow(rows, encoded)
        return [progress.hypothesis.tokens for _, progress in rows]

    def search(
        self, utterances: Sequence[Utterance], *, thorough: bool, hints_seconds: float = HINTS_SECONDS
    ) -> list[list[Alternative]]:
        """Return what each utterance may be, the best first.

        Hints decide among tokens that the network finds likely, as soon as the first chunk is read: chunks are never
        read again. Alternatives come from the CTC head; without one there is the best text alone.
        """
        wait([utterance.bias for utterance in utterances if utterance.bias], hints_seconds)
        self._read_whole_chunks(utterances)
        if self.is_streaming and not thorough:
            return [[_alternative(_progress(utterance).hypothesis)] for utterance in utterances]
        ends = self._read_ends(utterances)
        return [self._alternatives(utterance, ended) for utterance, ended in zip(utterances, ends, strict=True)]

    def token_frames(self, utterance: Utterance) -> list[int]:
        """Return the encoder frame of each token of the last thorough text."""
        return list(_progress(utterance).frames)

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Return the times of words, in steps of ``FRAME_SECONDS``."""
        return [self._timed(utterance) for utterance in utterances]

    def _timed(self, utterance: Utterance) -> tuple[TimedWord, ...]:
        words = self._tokenizer.words(utterance.tokens)
        frames = _progress(utterance).frames
        if len(frames) != len(utterance.tokens):
            return ()
        begins = [frames[word.first] * _FRAME_SAMPLES for word in words]
        limits = [*begins[1:], len(utterance)]
        return tuple(
            TimedWord(word.text, begin, max(begin, min((frames[word.end - 1] + 1) * _FRAME_SAMPLES, limit)))
            for word, begin, limit in zip(words, begins, limits, strict=True)
        )

    def _read_whole_chunks(self, utterances: Sequence[Utterance]) -> None:
        """Take in all chunks that are complete."""
        due = list(utterances) if self.is_streaming else []
        while due := [one for one in due if _progress(one).stream.chunks < self._shape.whole_chunks(len(one))]:
            for batch in _batches(due):
                self._read([(one, _progress(one)) for one in batch], ends=False)

    def _read_ends(self, utterances: Sequence[Utterance]) -> list[_Progress]:
        """Read what is left of each utterance; their states stay as they are."""
        forks = [self._begun(utterance) for utterance in utterances]
        due = list(zip(utterances, forks, strict=True))
        while due := [(one, fork) for one, fork in due if self._has_more(one, fork)]:
            for batch in _batches(due):
                self._read(batch, ends=True)
        for utterance, fork in zip(utterances, forks, strict=True):
            _progress(utterance).frames = fork.hypothesis.frames
        return forks

    def _begun(self, utterance: Utterance) -> _Progress:
        """Return a state to read an utterance to its end from."""
        if self.is_streaming:
            return _progress(utterance).fork()
        return _Progress(features=self._encoder.normalized(utterance.audio))

    def _has_more(self, utterance: Utterance, progress: _Progress) -> bool:
        return progress.stream.chunks * self._shape.chunk_frames < self._encoder.frames_of(len(utterance))

    def _read(self, rows: Sequence[tuple[Utterance, _Progress]], *, ends: bool) -> None:
        """Read one chunk of each utterance and go on with its hypothesis."""
        chunks = [
            Chunk(
                progress.stream,
                utterance.audio,
                ends,
                self._prompts.get(utterance.language, self._prompts[""]),
                progress.features,
            )
            for utterance, progress in rows
        ]
        encoded, streams = self._encoder.read(chunks)
        for (_, progress), stream in zip(rows, streams, strict=True):
            progress.stream = stream
        self._follow(rows, encoded)

    def _follow(self, rows: Sequence[tuple[Utterance, _Progress]], encoded: Sequence[Floats]) -> None:
        """Go on with hypotheses over the next frames of the encoder."""
        self._follow_ctc(rows, encoded)
        if self._transducer is not None:
            self._transducer.decode(
                encoded,
                [progress.hypothesis for _, progress in rows],
                [self._ready_bias(utterance) for utterance, _ in rows],
            )

    def _follow_ctc(self, rows: Sequence[tuple[Utterance, _Progress]], encoded: Sequence[Floats]) -> None:
        """Look at the frames by the CTC head, where texts or alternatives come from it."""
        asked = [
            (utterance, progress, frames)
            for (utterance, progress), frames in zip(rows, encoded, strict=True)
            if len(frames) and (self._transducer is None or utterance.wanted > 1)
        ]
        if self._ctc is None or not asked:
            return
        ends = np.cumsum([len(frames) for *_, frames in asked])
        together = np.split(self._ctc(np.concatenate([frames for *_, frames in asked])), ends[:-1])
        for (utterance, progress, _), found in zip(asked, together, strict=True):
            if utterance.searched:
                progress.log_probabilities.append(found)
            if self._transducer is None:
                last = progress.last if progress.last >= 0 else self._shape.blank
                progress.last = ctc.decode_greedily(found, progress.hypothesis, last)

    def _alternatives(self, utterance: Utterance, ended: _Progress) -> list[Alternative]:
        best = _alternative(ended.hypothesis)
        if not ended.log_probabilities:
            return [best]
        bias = self._ready_bias(utterance)
        found = ctc.search(np.concatenate(ended.log_probabilities), utterance.wanted + 1, bias)
        if self._transducer is None:
            _progress(utterance).frames = []
            return found
        known = next((one for one in found if one.tokens == best.tokens), None)
        if known is None:
            # The transducer is the better judge: its text is worth as much as the best of the CTC head.
            known = dataclasses.replace(found[0], tokens=best.tokens)
        return [known, *(one for one in found if one.tokens != best.tokens)]

    def _ready_bias(self, utterance: Utterance) -> PhraseBias | None:
        bias = utterance.bias
        return bias.result() if bias and bias.done() and not bias.exception() else None


def _progress(utterance: Utterance) -> _Progress:
    if utterance.state is None:
        utterance.state = _Progress()
    state: _Progress = utterance.state
    return state


def _alternative(hypothesis: Hypothesis) -> Alternative:
    return Alternative(tuple(hypothesis.tokens), 0.0, 0.0)


def _batches(rows: Sequence[_T]) -> list[Sequence[_T]]:
    return [rows[first : first + MAX_ROWS] for first in range(0, len(rows), MAX_ROWS)]
