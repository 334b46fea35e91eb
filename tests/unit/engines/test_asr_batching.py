from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engines.asr.serving.batching import group_by_length


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(1, 2000), st.floats(0, 1))
def test_every_item_is_in_one_group_within_the_bounds(lengths: list[int], max_padded: int, max_padding: float) -> None:
    groups = group_by_length(lengths, max_padded, max_padding)
    assert sorted(item for group in groups for item in group) == list(range(len(lengths)))
    for group in groups:
        sizes = [lengths[item] for item in group]
        assert sizes[0] == max(sizes)
        assert len(group) == 1 or len(group) * max(sizes) <= max_padded
        assert max(sizes) - min(sizes) <= max_padding * max(sizes)


def test_similar_lengths_go_together() -> None:
    assert group_by_length([100, 10, 95, 11], max_padded=1000, max_padding=0.1) == [[0, 2], [3, 1]]


def test_nothing_makes_no_groups() -> None:
    assert group_by_length([], max_padded=10, max_padding=0) == []
