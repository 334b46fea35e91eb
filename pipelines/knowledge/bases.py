"""The knowledge bases of a service, by name, and the search in several of them."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.data.recognition import Timing
from pipelines.errors import ModelError
from pipelines.knowledge.store.port import DEFAULT_LIMIT, KnowledgeStoreError
from pipelines.models.known_vectors import KnownVectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.knowledge.store.port import FoundPassage, KnowledgeStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FoundInBase:
    """A passage, and the name of the base that holds it."""

    base: str
    found: FoundPassage


@dataclass(frozen=True, slots=True)
class KnowledgeSearch:
    """Result of a search.

    Attributes:
        passages: the best first.
        timing: what it cost, without the embedding of the question.
    """

    passages: tuple[FoundInBase, ...]
    timing: Timing


class KnowledgeBases:
    """Bases that conversations name.

    Args:
        stores: by name.

    Attributes:
        vectors: of headings and statements that questions are compared with.
    """

    def __init__(self, stores: Mapping[str, KnowledgeStore]) -> None:
        self._stores = dict(stores)
        self.vectors = KnownVectors()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all bases."""
        return tuple(self._stores)

    async def search(
        self,
        names: Sequence[str],
        question: str,
        vector: npt.NDArray[np.float32] | None,
        limit: int = DEFAULT_LIMIT,
    ) -> KnowledgeSearch:
        """Find the passages of some bases that suit a question best.

        Args:
            names: of the bases.
            question: what is asked.
            vector: its embedding; None: it is searched by words alone.
            limit: how many passages at most.

        Raises:
            ModelError: a base cannot be read.
        """
        began = time.monotonic()
        found = await asyncio.gather(*(self._found(name, question, vector, limit) for name in names))
        passages = [FoundInBase(name, one) for name, some in zip(names, found, strict=True) for one in some]
        # Ranks are what the scores are made of, so that those of several bases can be compared.
        passages.sort(key=lambda passage: -passage.found.score)
        return KnowledgeSearch(tuple(passages[:limit]), Timing(0.0, time.monotonic() - began))

    async def _found(
        self, name: str, question: str, vector: npt.NDArray[np.float32] | None, limit: int
    ) -> list[FoundPassage]:
        try:
            # On a thread: a search takes milliseconds, in which no audio would be taken in.
            return await asyncio.to_thread(self._stores[name].search, question, vector, limit)
        except KnowledgeStoreError as error:
            # Callers are not told where the base is.
            logger.warning("knowledge base %s: %s", name, error)
            raise ModelError(f"the knowledge base {name!r} cannot be searched: the server's log says why") from error

    def close(self) -> None:
        """Close all bases."""
        for store in self._stores.values():
            store.close()


NO_BASES = KnowledgeBases({})
