"""The parts of the search: queries of the full text search, the index of vectors, and the fusion of rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.knowledge.store.fusion import SMOOTHING, fuse
from pipelines.knowledge.store.match_query import MAX_TERMS, match_query, rarest
from pipelines.knowledge.store.vectors import STORED, VectorIndex, pack


class TestQuery:
    @pytest.mark.parametrize(
        ("question", "query"),
        [
            ("When was the lighthouse built?", '"lighthouse" OR "built"'),
            ('x" OR title:secret NEAR(a b) -c*', '"x" OR "title" OR "secret" OR "near" OR "b" OR "c"'),
            ("What is it about?", '"what" OR "is" OR "it" OR "about"'),
            ("Lamp lamp LAMP", '"lamp"'),
            ("… ?!", ""),
            ("", ""),
        ],
    )
    def test_any_telling_word(self, question, query):
        assert match_query(question) == query

    def test_long_questions_are_cut(self):
        assert match_query(" ".join(f"w{n}" for n in range(500))).count(" OR ") == MAX_TERMS - 1

    @pytest.mark.parametrize(
        ("counts", "most", "kept"),
        [
            ({"boat": 90, "figurehead": 2, "old": 60}, 100, ["figurehead", "old"]),
            ({"boat": 900}, 100, ["boat"]),
            ({"boat": 30, "ship": 30}, 100, ["boat", "ship"]),
            ({}, 100, []),
        ],
    )
    def test_the_rarest_words(self, counts, most, kept):
        assert rarest(counts, most) == kept


class TestFusion:
    def test_what_both_rank_high_comes_first(self):
        fused = fuse([(1.0, [1, 2, 3]), (1.0, [2, 4])])
        assert [member for member, _ in fused] == [2, 1, 4, 3]
        assert dict(fused)[2] == pytest.approx(1 / (SMOOTHING + 2) + 1 / (SMOOTHING + 1))

    def test_weights_decide_between_equals(self):
        assert [member for member, _ in fuse([(1.0, [1]), (1.5, [2])])] == [2, 1]
        assert [member for member, _ in fuse([(1.0, [2]), (1.0, [1])])] == [1, 2]

    @given(st.lists(st.lists(st.integers(0, 20), unique=True), max_size=3))
    def test_nothing_is_lost_and_nothing_stands_twice(self, rankings):
        fused = [member for member, _ in fuse([(1.0, ranking) for ranking in rankings])]
        assert sorted(fused) == sorted({member for ranking in rankings for member in ranking})


class TestVectorIndex:
    def filled(self, count: int) -> tuple[VectorIndex, dict[int, np.ndarray]]:
        generator = np.random.default_rng(3)
        drawn = generator.standard_normal((count, 8)).astype(STORED).astype(np.float32)
        vectors = dict(enumerate(drawn, 1))
        index = VectorIndex(8)
        index.update(list(vectors), lambda ids: [(key, pack(vectors[key])) for key in reversed(ids)])
        return index, vectors

    def test_the_nearest_come_first(self):
        index, vectors = self.filled(50)
        for key in (1, 17, 50):
            expected = sorted(vectors, key=lambda other: -float(vectors[other] @ vectors[key]))
            assert index.nearest(vectors[key], 5) == expected[:5]
        assert sorted(index.nearest(vectors[1], 100)) == sorted(vectors)

    def test_changes_load_only_what_is_new(self):
        index, vectors = self.filled(4)
        asked = []

        def load(ids):
            asked.extend(ids)
            return [(key, pack(np.eye(8, dtype=np.float32)[0])) for key in ids]

        index.update([2, 4, 9], load)
        assert asked == [9]
        assert sorted(index.nearest(vectors[1], 10)) == [2, 4, 9]
        index.update([2, 4, 9], load)
        assert asked == [9]

    def test_an_empty_one_finds_nothing(self):
        assert VectorIndex(8).nearest(np.ones(8, np.float32), 5) == []

    def test_what_vanishes_before_it_is_loaded_is_left_out(self):
        index = VectorIndex(8)
        index.update([1, 2], lambda _: [(2, pack(np.ones(8, np.float32)))])
        assert index.nearest(np.ones(8, np.float32), 5) == [2]
