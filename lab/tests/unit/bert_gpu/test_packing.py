from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.bert.gpu.packing import pack, spread_rows, spread_tokens
from engines.gpu.buckets import TILE, bucket_for, token_buckets

ROWS = st.lists(st.integers(1, 12), min_size=1, max_size=6)


def request(lengths, first=0):
    width = max(lengths)
    mask = np.arange(width) < np.array(lengths)[:, np.newaxis]
    ids = np.where(mask, first + np.arange(mask.size).reshape(mask.shape), -1)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids % 2}


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_tokens_stand_in_order_without_padding(lengths):
    requests = [request(rows, 1000 * number) for number, rows in enumerate(lengths)]
    packed, masks = pack(requests)
    flat = [length for rows in lengths for length in rows]
    assert np.diff(packed.offsets).tolist() == flat
    assert packed.tokens == sum(flat)
    assert (packed.ids >= 0).all()
    assert packed.positions.tolist() == [place for length in flat for place in range(length)]
    assert packed.segments.tolist() == (packed.ids % 2).tolist()
    assert packed.ids.dtype == packed.positions.dtype == packed.segments.dtype == packed.offsets.dtype == np.int32
    spread = spread_tokens(packed.ids.astype(np.float32)[:, np.newaxis] + 1, masks)
    for values, wanted in zip(spread, requests, strict=True):
        np.testing.assert_array_equal(values[..., 0], wanted["input_ids"] + 1)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_rows_go_back_to_their_requests(lengths):
    requests = [request(rows) for rows in lengths]
    packed, masks = pack(requests)
    spread = spread_rows(np.arange(packed.rows, dtype=np.float32)[:, np.newaxis], masks)
    assert [len(values) for values in spread] == [len(rows) for rows in lengths]
    assert np.concatenate(spread)[:, 0].tolist() == list(range(packed.rows))


@given(ROWS, st.integers(12, 40), st.integers(1, 4))
def test_parts_are_no_larger_than_they_may_be_and_lose_nothing(lengths, tokens, rows):
    packed, _ = pack([request(lengths)])
    parts = list(packed.split(tokens, rows))
    assert all(part.tokens <= tokens and part.rows <= rows for part in parts)
    assert np.concatenate([part.ids for part in parts]).tolist() == packed.ids.tolist()
    assert [n for part in parts for n in np.diff(part.offsets).tolist()] == lengths
    assert all(part.offsets[0] == 0 for part in parts)


def test_a_row_that_fits_no_part_is_refused():
    packed, _ = pack([request([3, 9])])
    with pytest.raises(ValueError, match="a row has 9 tokens, but a batch holds 8: raise gpu_tokens"):
        list(packed.split(8, 10))


def test_what_was_packed_stays_when_a_request_is_overwritten():
    given_one = request([2, 3])
    packed, masks = pack([given_one])
    ids, mask = packed.ids.copy(), masks[0].copy()
    for values in given_one.values():
        values[:] = 0
    np.testing.assert_array_equal(packed.ids, ids)
    np.testing.assert_array_equal(masks[0], mask)


def test_without_kinds_of_token_all_are_of_the_first():
    packed, _ = pack([{name: values for name, values in request([4]).items() if name != "token_type_ids"}])
    assert not packed.segments.any()


@given(st.integers(1, 100_000))
def test_sizes_are_few_and_waste_little(most):
    sizes = token_buckets(most)
    assert sizes[-1] - TILE < most <= sizes[-1]
    assert all(size % TILE == 0 for size in sizes)
    assert len(sizes) <= 35
    for smaller, larger in itertools.pairwise(sizes):
        assert smaller < larger <= max(smaller + TILE, 1.25 * smaller)


def test_a_batch_gets_the_smallest_size_that_holds_it():
    sizes = (128, 256, 384)
    assert [bucket_for(sizes, tokens) for tokens in (1, 128, 129, 384)] == [128, 128, 256, 384]
    with pytest.raises(ValueError, match="385 tokens are more than the largest batch, 384"):
        bucket_for(sizes, 385)
