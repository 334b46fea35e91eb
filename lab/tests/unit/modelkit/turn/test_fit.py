"""Fitting the judge, on cases whose truth stands in two numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from modelkit.turn.cases import Case
from modelkit.turn.fit import UNHEARD, FitRecipe, fit

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 40
RECIPE = FitRecipe(sound_penalty=0.1)


class Reader:
    """Reads logits as texts; nothing in nothing."""

    def read(self, texts: Sequence[str]) -> list[float | None]:
        return [float(text) if text else None for text in texts]


def cases(kind: str, turns: int, seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(turns):
        for is_end in (True, False, False):
            sound = rng.standard_normal(WIDTH).astype(np.float32)
            sound[3] += 2.5 * is_end
            said = f"{rng.normal() + 2.5 * is_end:.3f}" if number % 10 else ""
            found.append(Case(f"{kind}-{number}", is_end, sound, float(rng.normal() + is_end), 0.3, said))
    return found


def test_both_together_are_better_than_either():
    judge, scores = fit(cases("r", 120, 1), cases("s", 60, 2), Reader(), RECIPE)
    assert 0.6 < scores["smart_turn"] < 0.85 < scores["sound"] < scores["both"]
    assert scores["words"] < scores["both"] > 0.97
    assert np.abs(judge.sound_scale).argmax() == 3
    assert (judge.weights[[0, 2]] > 0).all()


def test_the_same_cases_give_the_same_judge():
    judges = [fit(cases("r", 40, 1), cases("s", 20, 2), Reader(), RECIPE)[0] for _ in range(2)]
    assert np.array_equal(judges[0].sound_scale, judges[1].sound_scale)
    assert np.array_equal(judges[0].weights, judges[1].weights)


def test_what_is_learned_from_does_not_score_itself():
    rng = np.random.default_rng(4)
    # Nothing can be told of these, but learned by heart.
    blind = [
        Case(f"r-{number}", bool(number % 2), rng.standard_normal(400).astype(np.float32), 0.0, 0.3, "0")
        for number in range(200)
    ]
    _, scores = fit(blind, blind[:2], Reader(), RECIPE)
    assert scores["sound"] == pytest.approx(0.5, abs=0.12)


def test_recordings_that_weigh_nothing_teach_nothing():
    made = cases("s", 60, 2)
    own, other = (fit(cases("r", 60, seed), made, Reader(), UNHEARD)[0].sound_scale for seed in (1, 9))
    np.testing.assert_allclose(own, other, atol=5e-3)
    own, other = (fit(cases("r", 60, seed), made, Reader(), RECIPE)[0].sound_scale for seed in (1, 9))
    assert np.abs(own - other).max() > 1e-2
