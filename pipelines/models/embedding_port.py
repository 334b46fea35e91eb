"""Protocol and data of sentence embeddings, for knowledge bases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import Timing

MAX_TEXTS = 64
"""Texts of one request."""


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Vectors of texts.

    Attributes:
        vectors: one of length 1 for each text, float32 ``[texts, dimensions]``.
        timing: what they cost.
    """

    vectors: npt.NDArray[np.float32]
    timing: Timing


class EmbeddingModel(Protocol):
    """Sentence embeddings: texts alike in meaning get vectors with a high cosine."""

    async def embed(self, texts: Sequence[str], due: float | None = None) -> Embeddings:
        """Embed texts.

        Args:
            texts: one to :data:`MAX_TEXTS`.
            due: deadline, see ``pipelines.models.ports``.

        Raises:
            ModelError: the model does not answer.
        """
