"""Computes sentence embeddings with a BERT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from engines.bert.session import MASK, BertSession
from engines.session import ONNX_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator

DIMENSIONS = 384
MAX_TOKENS = 256
"""Tokens of a text that are read, specials included: as many as MiniLM-L6 was trained for."""
FOLDER = "minilm"
"""Folder of the network in that of a version of the Triton model."""
NETWORK, TOKENIZER = "model.int8.onnx", "tokenizer.json"
OUTPUT = "embedding"


class Embedder:
    """Sentence embeddings by all-MiniLM-L6-v2.

    Args:
        folder: holds the network, with the output ``embedding`` ``[rows, 384]`` float32, and ``tokenizer.json``.
        threads: cores that one call may use.
        accelerator: what computes.
    """

    def __init__(self, folder: Path, threads: int = 2, accelerator: Accelerator = ONNX_RUNTIME) -> None:
        self._session = BertSession(folder / NETWORK, threads, accelerator)
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return a unit vector for each text, float32 ``[texts, 384]``."""
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        rows = [np.array([encoding.ids], np.int64) for encoding in self._tokenizer.encode_batch(list(texts))]
        results = self._session.run([{"input_ids": ids, MASK: np.ones_like(ids)} for ids in rows])
        return np.concatenate([result[OUTPUT] for result in results])
