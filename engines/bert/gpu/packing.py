"""Packing of requests' rows into one run without padding, and back.

Sequences of any length lie end to end, told apart by where each begins (Zeng et al., 2022, "Boosting Distributed
Training Performance of the Unpadded BERT Model"): no product is spent on padding, and nobody waits for rows of like
length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]

MASK = "attention_mask"


@dataclass(frozen=True, eq=False, slots=True)
class PackedRows:
    """The tokens of some rows, one after another.

    Attributes:
        ids: of the vocabulary, ``[tokens]`` int32.
        positions: of each token in its row, likewise.
        segments: kind of each token, likewise.
        offsets: ``[rows + 1]`` int32: where each row begins, and last the number of tokens.
    """

    ids: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int32]
    segments: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int32]

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return len(self.ids)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def split(self, most_tokens: int, most_rows: int) -> Iterator[PackedRows]:
        """Split rows into parts of at most ``most_tokens`` and ``most_rows``.

        Raises:
            ValueError: a single row has more tokens.
        """
        first = 0
        while first < self.rows:
            end = int(np.searchsorted(self.offsets, self.offsets[first] + most_tokens, side="right")) - 1
            end = min(end, first + most_rows)
            if end == first:
                length = int(self.offsets[first + 1] - self.offsets[first])
                raise ValueError(f"a row has {length} tokens, but a batch holds {most_tokens}: raise gpu_tokens")
            begin, stop = int(self.offsets[first]), int(self.offsets[end])
            yield PackedRows(
                self.ids[begin:stop],
                self.positions[begin:stop],
                self.segments[begin:stop],
                self.offsets[first : end + 1] - self.offsets[first],
            )
            first = end


def pack(requests: Sequence[Mapping[str, npt.NDArray[Any]]]) -> tuple[PackedRows, list[Mask]]:
    """Pack requests into new memory, so that theirs may be reused.

    Args:
        requests: for each ``input_ids``, ``attention_mask`` and, where the network reads them, ``token_type_ids``,
            ``[rows, tokens]`` of any integer type (the mask also bool), padded on the right. A stage that begins with
            hidden states needs the mask alone.

    Returns:
        The tokens of all rows, and for each request which of its tokens are no padding.
    """
    masks = [request[MASK].astype(np.bool_) for request in requests]
    lengths = np.concatenate([mask.sum(axis=1, dtype=np.int32) for mask in masks])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    positions = np.arange(offsets[-1], dtype=np.int32) - np.repeat(offsets[:-1], lengths)

    def packed(name: str) -> npt.NDArray[np.int32]:
        if not all(name in request for request in requests):
            return np.zeros(len(positions), np.int32)
        parts = [request[name][mask] for request, mask in zip(requests, masks, strict=True)]
        values: npt.NDArray[np.int32] = np.concatenate(parts)
        return values.astype(np.int32, copy=False)

    return PackedRows(packed("input_ids"), positions, packed("token_type_ids"), offsets), masks


def spread_tokens(values: npt.NDArray[np.float32], masks: Sequence[Mask]) -> list[npt.NDArray[np.float32]]:
    """Give each request its tokens' values, ``[rows, tokens, …]``, zeros at padding.

    Args:
        values: ``[all tokens, …]`` in the order of packing.
        masks: as :func:`pack` returns them.
    """
    spread, begin = [], 0
    for mask in masks:
        count = int(mask.sum())
        target = np.zeros((*mask.shape, *values.shape[1:]), np.float32)
        target[mask] = values[begin : begin + count]
        spread.append(target)
        begin += count
    return spread


def spread_rows(values: npt.NDArray[np.float32], masks: Sequence[Mask]) -> list[npt.NDArray[np.float32]]:
    """Give each request its rows' values, ``[rows, …]``; see :func:`spread_tokens`."""
    return np.split(values, np.cumsum([len(mask) for mask in masks])[:-1])
