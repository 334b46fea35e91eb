"""Embeddings of all passages in memory, searched exhaustively."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

STORED = np.dtype("<f2")
"""How vectors are stored: half precision, whose error is a hundredth of that of networks in 8 bits."""


class VectorIndex:
    """Unit vectors by id.

    A search computes the cosine with each of them, which takes about a millisecond for 10,000. An approximate index
    would take longer to keep up to date than that, and misses some.
    """

    def __init__(self, dimensions: int) -> None:
        self._ids = np.zeros(0, np.int64)
        self._vectors = np.zeros((0, dimensions), np.float32)

    def update(self, ids: Sequence[int], load: Callable[[Sequence[int]], Iterable[tuple[int, bytes]]]) -> None:
        """Take changes over.

        Args:
            ids: all that there are now; an id always has the same vector.
            load: gives the stored vectors of some ids, in any order.
        """
        now = np.array(sorted(ids), np.int64)
        fresh = np.setdiff1d(now, self._ids, assume_unique=True)
        kept = np.isin(self._ids, now, assume_unique=True)
        if not len(fresh) and kept.all():
            return
        loaded = list(load(fresh.tolist()))
        packed = np.frombuffer(b"".join(vector for _, vector in loaded), STORED)
        vectors = packed.astype(np.float32).reshape(len(loaded), self._vectors.shape[1])
        ids_now = np.concatenate([self._ids[kept], np.array([member for member, _ in loaded], np.int64)])
        self._vectors = np.concatenate([self._vectors[kept], vectors])
        self._ids = ids_now

    def nearest(self, vector: npt.NDArray[np.float32], limit: int) -> list[int]:
        """Return the ids of the vectors with the greatest cosine, the greatest first."""
        cosines = self._vectors @ vector.astype(np.float32)
        best = np.argpartition(cosines, -limit)[-limit:] if limit < len(cosines) else np.arange(len(cosines))
        ranked: list[int] = self._ids[best[np.argsort(-cosines[best], kind="stable")]].tolist()
        return ranked


def pack(vector: npt.NDArray[np.float32]) -> bytes:
    """Return a vector as it is stored."""
    return vector.astype(STORED).tobytes()
