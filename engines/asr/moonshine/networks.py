"""Moonshine's networks as the recognizer sees them; those on onnxruntime."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from engines.asr.moonshine import decoder
from engines.asr.moonshine.decoder import BeamBatch, DecoderBatch, silent_batch
from engines.asr.moonshine.drafting import MAX_ROWS, Drafter, drafting_pays
from engines.asr.moonshine.encoder import Encoder, frames_of
from engines.asr.moonshine.features import encoder_frames, feature_frames
from engines.asr.serving.batching import group_by_length
from engines.asr.serving.utterance import SAMPLE_RATE
from engines.session import ONNX_RUNTIME, load_onnx_session, load_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engines.accelerators.choice import Accelerator
    from engines.asr.moonshine.decoder import EncodedBatch
    from engines.asr.moonshine.decoding import TokenPredictor
    from engines.asr.search.ports import CandidateScorer
    from engines.asr.serving.utterance import Utterance
    from engines.session import Network

    Drafts = Sequence[Sequence[int]]

ENCODER = "encoder.onnx"
FILES = ("front_end.onnx", ENCODER, "decoder.onnx", "draft_decoder.onnx")

# Bounds of one batch: the cross attention takes 14 kB a frame, and the logits 131 kB a drafted token.
_MAX_DECODER_FRAMES = 4096
_MAX_DRAFTED_TOKENS = 512
# Less new speech has so few tokens that the exact decoder is as fast by itself.
_MIN_DRAFTED_SAMPLES = round(0.7 * SAMPLE_RATE)
_TRIAL_SECONDS = 4


class Networks(Protocol):
    """Encoder and decoder on a device; ``encoded`` is open in :meth:`encoded`."""

    def extend(self, utterances: Sequence[Utterance]) -> None:
        """Take in the audio that has not been seen."""

    def batches(self, utterances: Sequence[Utterance], beams: int) -> Iterator[list[int]]:
        """Yield indices of utterances that are decoded together; each has so many rows."""

    def encoded(self, utterances: Sequence[Utterance]) -> AbstractContextManager[Any]:
        """Encode utterances that are decoded together."""

    def drafts(self, encoded: Any, known: Drafts, limits: Sequence[int], news: int) -> Drafts:  # noqa: ANN401 - its own
        """Return what each row probably says.

        Args:
            encoded: the rows, which stay as they are.
            known: what each probably begins with.
            limits: the most tokens of each.
            news: the most samples that any has and that ``known`` does not cover.
        """

    def greedy(self, encoded: Any, limit: int) -> TokenPredictor:  # noqa: ANN401 - its own
        """Return the decoder for rows that use so many positions at most."""

    def beams(self, encoded: Any, limit: int, width: int) -> CandidateScorer:  # noqa: ANN401 - its own
        """Return the decoder for so many beams of each utterance."""

    def cross_queries(
        self,
        encoded: Any,  # noqa: ANN401 - its own
        tokens: NDArray[np.int64],
        lengths: NDArray[np.int32],
    ) -> list[NDArray[np.float32]]:
        """Return cross-attention queries per layer, float32 ``[rows, steps, 288]``.

        Args:
            encoded: the rows.
            tokens: ``[rows, steps]``, from the start token on; what lies beyond a row's length is ignored.
            lengths: ``[rows]``, at least 1.
        """

    def cross_keys(self, encoded: Any, row: int) -> list[NDArray[np.float32]]:  # noqa: ANN401 - its own
        """Return the cross-attention keys per layer of a row, ``[8, frames, 36]``."""


class OnnxNetworks:
    """The networks on onnxruntime (:class:`Networks`).

    Args:
        folder: holds ``FILES``.
        threads: threads that work on one batch.
        drafting: whether texts are drafted by a decoder in 8 bits where this processor is faster with that.
        accelerator: what computes the front end and the encoder. The decoders write into the caches that they read,
            and choose their outputs by a condition, which onnxruntime alone does.
        workers: batches that are computed at a time.
        encoder: computes the encoder; None: its graph is loaded here.

    Attributes:
        drafter: that decoder; None where it is not used.
    """

    def __init__(
        self,
        folder: Path,
        threads: int,
        *,
        drafting: bool,
        accelerator: Accelerator = ONNX_RUNTIME,
        workers: int = 1,
        encoder: Network | None = None,
    ) -> None:
        front_end = load_session(folder / "front_end.onnx", threads, accelerator=accelerator, runs=workers)
        if encoder is None:
            encoder = load_session(folder / ENCODER, threads, accelerator=accelerator, runs=workers)
        self._decoder = load_onnx_session(folder / "decoder.onnx", threads)
        self._encoder = Encoder(front_end, encoder)
        self.drafter = self._load_drafter(folder / "draft_decoder.onnx", threads) if drafting else None

    def extend(self, utterances: Sequence[Utterance]) -> None:
        """See :class:`Networks`."""
        self._encoder.extend(utterances)

    def batches(self, utterances: Sequence[Utterance], beams: int) -> Iterator[list[int]]:
        """See :class:`Networks`."""
        del beams
        for group in group_by_length(frames_of(utterances), _MAX_DECODER_FRAMES, max_padding=1.0):
            steps = [len(utterances[i].tokens) + 1 for i in group]
            for part in group_by_length(steps, _MAX_DRAFTED_TOKENS, max_padding=1.0):
                yield sorted(group[i] for i in part)

    @contextlib.contextmanager
    def encoded(self, utterances: Sequence[Utterance]) -> Iterator[EncodedBatch]:
        """See :class:`Networks`."""
        yield self._encoder.encode(utterances)

    def drafts(self, encoded: EncodedBatch, known: Drafts, limits: Sequence[int], news: int) -> Drafts:
        """See :class:`Networks`."""
        if self.drafter is None or len(limits) > MAX_ROWS or news < _MIN_DRAFTED_SAMPLES:
            return known
        return self.drafter.draft(encoded, known, limits)

    def greedy(self, encoded: EncodedBatch, limit: int) -> DecoderBatch:
        """See :class:`Networks`."""
        return DecoderBatch(self._decoder, encoded, limit)

    def beams(self, encoded: EncodedBatch, limit: int, width: int) -> BeamBatch:
        """See :class:`Networks`."""
        return BeamBatch(self._decoder, encoded, limit, width)

    def cross_queries(
        self, encoded: EncodedBatch, tokens: NDArray[np.int64], lengths: NDArray[np.int32]
    ) -> list[NDArray[np.float32]]:
        """See :class:`Networks`."""
        return decoder.cross_queries(self._decoder, encoded, tokens, lengths)

    def cross_keys(self, encoded: EncodedBatch, row: int) -> list[NDArray[np.float32]]:
        """See :class:`Networks`."""
        return [key[row] for key in encoded.cross[::2]]

    def _load_drafter(self, path: Path, threads: int) -> Drafter | None:
        session = load_onnx_session(path, threads)
        # Silence: stages of an encoder can be asked once all models are loaded.
        trial = silent_batch(encoder_frames(feature_frames(_TRIAL_SECONDS * SAMPLE_RATE)))
        return Drafter(session) if drafting_pays(session, self._decoder, trial) else None
