"""Embeddings for the tests: a dimension a word, so that texts are alike by the words that they share."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

DIMENSIONS = 64
SYNONYMS = {"automobile": "car", "vehicle": "car", "purchase": "buy"}
"""Words that mean the same."""


def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    vectors = np.full((len(texts), DIMENSIONS), 1e-3, np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(SYNONYMS.get(word, word).encode()) % DIMENSIONS] += 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
