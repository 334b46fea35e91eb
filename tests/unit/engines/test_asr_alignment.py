from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from engines.asr.moonshine.alignment import HEADS, attention, warp

LAYERS, HEAD_COUNT, HEAD_SIZE = 6, 8, 4


def given(weights: np.ndarray, starts: tuple[int, ...]) -> float:
    ends = (*starts[1:], weights.shape[1])
    return float(sum(row[start:end].sum() for row, start, end in zip(weights, starts, ends, strict=True)))


@pytest.mark.parametrize(("rows", "frames"), [(1, 5), (3, 6), (4, 4), (5, 3)])
def test_no_other_segmentation_gives_more(rows: int, frames: int) -> None:
    chances = np.random.default_rng(rows)
    for _ in range(10):
        weights = chances.random((rows, frames)).astype(np.float32)
        every = [(0, *starts) for starts in combinations_with_replacement(range(frames + 1), rows - 1)]
        found = tuple(warp(weights).tolist())
        assert given(weights, found) == pytest.approx(max(given(weights, starts) for starts in every))
        assert found in every


def test_rows_begin_where_their_attention_begins() -> None:
    weights = np.zeros((3, 9), np.float32)
    weights[0, :4] = weights[1, 4:5] = weights[2, 5:] = 1
    assert warp(weights).tolist() == [0, 4, 5]


def test_attention_is_the_mean_over_the_heads_and_ignores_padding() -> None:
    queries = [np.zeros((2, HEAD_COUNT * HEAD_SIZE), np.float32) for _ in range(LAYERS)]
    keys = [np.zeros((HEAD_COUNT, 5, HEAD_SIZE), np.float32) for _ in range(LAYERS)]
    layer, head = HEADS[0]
    # One head looks at frame 2 in step 1; all others look at everything alike.
    queries[layer][1, head * HEAD_SIZE] = 100.0
    keys[layer][head, 2, 0] = 100.0
    keys[layer][head, 4, 0] = 1000.0
    weights = attention(queries, keys, frames=4)
    share = 1 / len(HEADS)
    assert weights[0] == pytest.approx(np.full(4, 0.25))
    assert weights[1] == pytest.approx(np.array([0, 0, share, 0]) + (1 - share) * 0.25)
