from __future__ import annotations

import pytest

from modelkit.turn.measures import auc


@pytest.mark.parametrize(
    ("ends", "holds", "area"),
    [([2, 3], [0, 1], 1), ([0, 1], [2, 3], 0), ([1], [1], 0.5), ([1, 3], [2, 2], 0.5), ([2, 4], [1, 3], 0.75)],
)
def test_the_area_tells_how_often_an_end_scores_higher(ends: list[float], holds: list[float], area: float):
    assert auc(ends, holds) == area
