"""Client of the Triton model ``embed``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from pipelines.models.contracts import EMBED
from pipelines.models.embedding_port import Embeddings
from pipelines.models.triton.packing import tensor, timing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.models.triton.client import TritonClient


class TritonEmbeddings:
    """Sentence embeddings by a Triton model with the contract of ``embed``."""

    def __init__(self, client: TritonClient, model: str = EMBED) -> None:
        self._client = client
        self._model = model

    async def embed(self, texts: Sequence[str], due: float | None = None) -> Embeddings:
        """Embed texts; see ``pipelines.models.embedding_port.EmbeddingModel``."""
        began = time.monotonic()
        packed = np.array([[text.encode()] for text in texts], np.object_)
        result = await self._client.infer(self._model, [tensor("TEXT", packed, "BYTES")], due=due)
        return Embeddings(result.as_numpy("EMBEDDING"), timing(began, result))
