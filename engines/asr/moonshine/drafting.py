"""Drafts texts with the decoder in 8 bits, which are verified by the one in 32.

A step of one row mostly waits for the decoder's weights, 36 MB of float32. Their 8-bit originals are read in a third of
the time, and predict the same token nearly always: so the text is decoded with these, and the exact decoder reads all
of it in one pass and decodes on from the first token that it would not have chosen
(``engines.asr.moonshine.decoding``; Leviathan et al. 2023, "Fast Inference from Transformers via Speculative
Decoding", at
temperature zero, with the quantized model as the draft model). The text is the exact decoder's own.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.moonshine.decoder import DecoderBatch, DraftBatch
from engines.asr.moonshine.decoding import decode_greedily
from engines.asr.moonshine.vocabulary import START_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime as ort

    from engines.asr.moonshine.decoder import EncodedBatch

MAX_ROWS = 2
"""With more rows in a batch a pass through the exact weights serves so many that drafting them first costs time."""

_STEPS = 12
"""Tokens of a text of four seconds."""
_ROUNDS = 3
_SAVES = 0.9
"""What it must save, as a share of the time, to be worth its 30 MB."""


class Drafter:
    """Drafts texts with a decoder that is faster and errs now and then.

    Args:
        session: that decoder.
    """

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session

    def draft(self, encoded: EncodedBatch, known: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[int]]:
        """Return what each row probably says.

        Args:
            encoded: the encoded rows, which stay as they are.
            known: what each row probably begins with; empty where nothing is known.
            limits: the most tokens of each row.
        """
        batch = DraftBatch(self._session, encoded if len(limits) == 1 else encoded.copy(), max(limits) + 1)
        return [hypothesis.tokens for hypothesis in decode_greedily(batch, known, limits)]


def drafting_pays(draft: ort.InferenceSession, decoder: ort.InferenceSession, encoded: EncodedBatch) -> bool:
    """Return whether drafting by ``draft`` saves time over ``decoder`` alone.

    It does where the processor multiplies integers of 8 bits faster than float32.

    Args:
        draft: the decoder in 8 bits.
        decoder: the exact one.
        encoded: one row to try it on.
    """
    drafting = verifying = alone = math.inf
    for _ in range(_ROUNDS):
        drafting = min(drafting, _decoding_seconds(DraftBatch(draft, encoded, _STEPS + 1)))
        verifying = min(verifying, _verifying_seconds(DecoderBatch(decoder, encoded, _STEPS + 1)))
        alone = min(alone, _decoding_seconds(DecoderBatch(decoder, encoded, _STEPS + 1)))
    return drafting + verifying < _SAVES * alone


def _decoding_seconds(batch: DecoderBatch) -> float:
    started = time.perf_counter()
    tokens = batch.begin(np.full((1, 1), START_TOKEN, np.int64), np.ones(1, np.int32))[:, 0]
    for position in range(1, _STEPS + 1):
        tokens = batch.step(tokens, np.full(1, position, np.int32))
    return time.perf_counter() - started


def _verifying_seconds(batch: DecoderBatch) -> float:
    started = time.perf_counter()
    batch.begin(np.full((1, _STEPS + 1), START_TOKEN, np.int64), np.full(1, _STEPS + 1, np.int32))
    return time.perf_counter() - started
