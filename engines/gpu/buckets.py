"""Bucket sizes of CUDA graphs, whose shapes are fixed."""

from __future__ import annotations

from bisect import bisect_left

TILE = 128
"""Sizes are multiples of it: rows that the matrix units compute at a time."""
_GROWTH = 1.25
"""Each size is at most so much larger than the one before: at most a fifth of a batch is filler, a tenth on average."""


def token_buckets(most: int) -> tuple[int, ...]:
    """List sizes up to ``most`` tokens, rounded up to :data:`TILE`."""
    last = -(-most // TILE) * TILE
    sizes = [TILE]
    while sizes[-1] < last:
        grown = max(sizes[-1] + TILE, int(sizes[-1] * _GROWTH) // TILE * TILE)
        sizes.append(min(grown, last))
    return tuple(sizes)


def bucket_for(sizes: tuple[int, ...], tokens: int) -> int:
    """Return the smallest size that holds ``tokens``.

    Raises:
        ValueError: none does.
    """
    place = bisect_left(sizes, tokens)
    if place == len(sizes):
        raise ValueError(f"{tokens} tokens are more than the largest batch, {sizes[-1]}: split them")
    return sizes[place]
