"""What is sent to the networks and to recognition: the demonstration's sentences, documents and recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, read_items, samples
from benchmarks.triton.study.plan import INTENT, QA
from engines.bert.tokenizing import DocumentTokenizer, UtteranceTokenizer
from service.served_models import DEFAULT_MODEL_REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from benchmarks.triton.load import Batch
    from engines.bert.tokenizing import TokenBatch

CHUNK = round(0.4 * RATE_HZ)
"""Samples of a request to recognition: one partial transcript each."""


def utterances(size: int) -> list[Batch]:
    """Gives requests to the intent network, of ``size`` sentences each."""
    texts = [item.text for item in read_items(DEMONSTRATION)]
    tokenizer = UtteranceTokenizer(_tokenizer("intent_slot_tokenize"))
    groups = [[texts[(first + k) % len(texts)] for k in range(size)] for first in range(0, len(texts), size)]
    return [_feeds(tokenizer.encode(group)) for group in groups]


def windows(size: int) -> list[Batch]:
    """Gives requests to the QA network, of ``size`` full windows each."""
    documents = sorted((DEMONSTRATION.parent / "documents").iterdir())
    text = "\n".join(path.read_text(encoding="utf-8") for path in documents)
    tokenizer = DocumentTokenizer(_tokenizer("qa_tokenize"))
    batches: list[Batch] = []
    for item in read_items(DEMONSTRATION):
        if item.document is not None:
            encoded = tokenizer.encode(item.text, text)
            types = {"TOKEN_TYPE_IDS": encoded.token_type_ids}
            # The last window of a text is short.
            full = {name: rows[:-1] for name, rows in (_feeds(encoded) | types).items()}
            batches.append({name: np.resize(rows, (size, rows.shape[1])) for name, rows in full.items()})
    return batches


def speech() -> list[Batch]:
    """Gives the requests of one sequence to recognition: a recording in pieces of :data:`CHUNK`."""
    recording = max((item.path for item in read_items(DEMONSTRATION)), key=lambda path: len(samples(path)))
    audio = samples(recording).astype(np.float32) / 32768
    pieces = [audio[first : first + CHUNK] for first in range(0, len(audio), CHUNK)]
    return [{"AUDIO": piece[None], "DECODE": np.array([[False]])} for piece in pieces]


REQUESTS = {INTENT: utterances, QA: windows}


def _feeds(tokens: TokenBatch) -> dict[str, npt.NDArray[Any]]:
    return {"INPUT_IDS": tokens.input_ids, "ATTENTION_MASK": tokens.attention_mask}


def _tokenizer(model: str) -> Path:
    return DEFAULT_MODEL_REPOSITORY / model / "1" / "tokenizer.json"
