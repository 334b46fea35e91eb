"""Storage of a knowledge base: protocol and plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipelines.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.knowledge.reading.passages import Passage

DEFAULT_LIMIT = 5
"""Passages that a search returns."""


class KnowledgeStoreError(PipelineError):
    """Unusable knowledge base; the message names the cure."""

    reason = "KNOWLEDGE_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of a base.

    Attributes:
        path: of its file, relative to the folder that the base was built from; unique in the base.
        title: of the document.
        content_hash: of its file, with the version of what read it.
    """

    path: str
    title: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a search found.

    Attributes:
        path: of its document's file.
        title: of its document.
        passage: the passage, with its number, headings and page.
        score: sum of the reciprocal ranks; comparable within one search only.
    """

    path: str
    title: str
    passage: Passage
    score: float


class KnowledgeStore(Protocol):
    """Documents, passages and embeddings of a base; readable during writes."""

    def hashes(self) -> Mapping[str, str]:
        """Return the content hash of every document by its path."""

    def replace(self, document: StoredDocument, passages: Sequence[Passage], vectors: npt.NDArray[np.float32]) -> None:
        """Replace the document of a path, atomically for readers.

        Args:
            document: which.
            passages: of the document, in order.
            vectors: unit vector of each passage, ``[passages, dimensions]``.

        Raises:
            KnowledgeStoreError: it cannot be written.
        """

    def remove(self, paths: Sequence[str]) -> None:
        """Remove documents; those that are not there are none to remove.

        Raises:
            KnowledgeStoreError: it cannot be written.
        """

    def search(
        self, question: str, vector: npt.NDArray[np.float32] | None, limit: int = DEFAULT_LIMIT
    ) -> list[FoundPassage]:
        """Find passages by words and by meaning, the best first.

        Args:
            question: what is asked, in words.
            vector: its embedding, a unit vector; None to search by words alone.
            limit: how many passages at most.

        Raises:
            KnowledgeStoreError: it cannot be read, or the vector is of another model than those stored.
        """

    def close(self) -> None:
        """Close the base."""
