"""``vivavoce train punctuation``: from well-written text to an engine directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from engines.bert.punctuator import WordTokenizer
from modelkit.errors import TrainingError
from modelkit.training import punctuation_data, punctuation_engine
from modelkit.training.bases import find_base
from modelkit.training.devices import choose_device
from modelkit.training.options import TrainOptions, adjust
from modelkit.training.punctuation_recipe import PunctuationRecipe
from modelkit.training.punctuation_task import PunctuationTask
from modelkit.training.saved import load_punctuation
from modelkit.training.small_base import cut
from modelkit.training.splits import small_validation_warning

if TYPE_CHECKING:
    from modelkit.training.progress import Display


@dataclass(frozen=True, slots=True)
class PunctuationOptions:
    """What is trained, beyond :class:`modelkit.training.options.TrainOptions`.

    Attributes:
        common: the options of all kinds of engines.
        test: text to score at the end, whose paragraphs must not be among the data.
    """

    common: TrainOptions
    test: Path | None = None


def train(options: PunctuationOptions, display: Display) -> dict[str, object]:
    """Trains a punctuation engine, or goes on with a run that was interrupted.

    Returns:
        The scores, as on the model card.

    Raises:
        ModelkitError: data, base or run are not fit for it.
    """
    common = options.common
    common.check_out()
    if common.teachers:
        raise TrainingError("punctuation is not learned from teachers: leave --teachers out")
    data = punctuation_data.gather(common.data, test=options.test, validation=common.validation)
    device = choose_device(common.device)
    recipe = adjust(PunctuationRecipe().on_gpu() if device.type == "cuda" else PunctuationRecipe(), common)
    base = find_base(*common.bases)
    folder = common.folder
    given = common.begin(common.describe(base, options.test, recipe))
    display.say(
        f"{len(data.training)} paragraphs and questions, {len(data.validation)} for validation, "
        f"{sum(len(passage.words) for passage in data.training)} words, on {device}"
    )
    if not folder.finished:
        torch.manual_seed(recipe.schedule.seed)
        with TemporaryDirectory() as directory:
            small = cut(base, Path(directory), recipe.layers, recipe.pieces)
            small.keep(folder.path)
            network = small.punctuation_network().to(device)
            tokenizer = WordTokenizer(small.tokenizer)
        task = PunctuationTask(network, data, tokenizer, recipe)
        common.run(task, recipe.schedule, display)
    display.say("exporting, compressing and scoring")
    if warning := small_validation_warning(len(data.validation), "paragraphs and questions"):
        display.say(warning)
    return punctuation_engine.finish(
        load_punctuation(common.out), common.out, data, {"task": "punctuation and capitals", **given}
    )
