"""Settings that no training could go on with."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from lab.tests.unit.modelkit.training.small_data import Silent, write_squad
from modelkit.errors import TrainingError
from modelkit.training.nlu_recipe import NluRecipe
from modelkit.training.options import TrainOptions, adjust
from modelkit.training.punctuation_recipe import PunctuationRecipe
from modelkit.training.qa import QaOptions, train
from modelkit.training.qa_recipe import QaRecipe

if TYPE_CHECKING:
    from pathlib import Path

RECIPES = (NluRecipe(), NluRecipe.for_sentences(9), QaRecipe().on_gpu(), PunctuationRecipe())


@pytest.mark.parametrize(
    ("recipe", "setting", "match"),
    [
        (NluRecipe(), "patience=0", "patience=0 cannot be: give 1 or more"),
        (NluRecipe(), "epochs=0", r"epochs=0\.0 cannot be: give 0\.001 or more"),
        (NluRecipe(), "epochs=nan", "epochs=nan cannot be"),
        (NluRecipe(), "rows=0", "rows=0 cannot be: give 1 or more"),
        (NluRecipe(), "learning_rate=-0.1", r"learning_rate=-0\.1 cannot be: give 0 or more"),
        (NluRecipe(), "learning_rate=inf", "learning_rate=inf cannot be"),
        (NluRecipe(), "dropout=1.5", r"dropout=1\.5 cannot be: give 0 to 1"),
        (NluRecipe(), "outliers_per_epoch=-1", "outliers_per_epoch=-1 cannot be: give 0 or more"),
        (NluRecipe(), f"seed={2**70}", "seed=.* cannot be"),
        (QaRecipe(), "overlap=-1", "overlap=-1 cannot be: give 0 or more"),
        (QaRecipe(), "validated=0", "validated=0 cannot be: give 1 or more"),
        (PunctuationRecipe(), "questions=2", r"questions=2\.0 cannot be: give 0 to 1"),
        (PunctuationRecipe(), "shortest=0", "shortest=0 cannot be: give 1 or more"),
    ],
)
def test_a_setting_outside_of_its_range_is_refused(
    recipe: NluRecipe | QaRecipe | PunctuationRecipe, setting: str, match: str
):
    with pytest.raises(TrainingError, match=match):
        adjust(recipe, TrainOptions((), None, settings=(setting,)))


def test_epochs_of_an_option_have_the_same_range():
    with pytest.raises(TrainingError, match=r"epochs=0\.0 cannot be"):
        adjust(NluRecipe(), TrainOptions((), None, epochs=0))


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_recipes_say_themselves_lies_within(recipe: NluRecipe | QaRecipe | PunctuationRecipe):
    values = asdict(recipe)
    nested = [values.pop(name) for name, value in list(values.items()) if isinstance(value, dict)]
    settings = tuple(f"{name}={value}" for part in (values, *nested) for name, value in part.items())
    assert adjust(recipe, TrainOptions((), None, settings=settings)) == recipe


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        ("window=100", "window=100, overlap=48: a window of 100 tokens leaves no room for a question"),
        ("window=301", "window=301 cannot be: .* reads 300 tokens at most: set fewer"),
    ],
)
def test_windows_that_cannot_be_read_are_refused_before_anything_is_written(
    tiny_base: Path, tmp_path: Path, setting: str, match: str
):
    data = (write_squad(tmp_path / "squad.json"),)
    common = TrainOptions(data, tmp_path / "engine", (tiny_base,), validation=0.3, device="cpu", settings=(setting,))
    with pytest.raises(TrainingError, match=match):
        train(QaOptions(common), Silent())
    assert not (tmp_path / "engine" / "training").exists()
