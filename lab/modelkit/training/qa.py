"""``vivavoce train qa``: from questions to an engine directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from engines.bert.tokenizing import DocumentTokenizer
from modelkit.errors import TrainingError
from modelkit.importing.architectures import positions
from modelkit.networks import BERT, MPNET, encoder_config
from modelkit.token_pruning import KEPT_TOKENS
from modelkit.training import qa_data, qa_engine
from modelkit.training.bases import CONFIG, find_base
from modelkit.training.devices import choose_device
from modelkit.training.distillation import Teachers
from modelkit.training.options import TrainOptions, adjust
from modelkit.training.qa_recipe import Pruning, QaRecipe
from modelkit.training.qa_task import QaTask
from modelkit.training.saved import load_spans
from modelkit.training.splits import small_validation_warning
from modelkit.training.vocabularies import translate_pairs
from modelkit.unit_pruning import cut_units, hold_cut_units, measure_importance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modelkit.training.bases import Base
    from modelkit.training.progress import Display
    from modelkit.training.qa_data import QaData

_LOOKED_AT = 1000
"""Rows that tell which heads and neurons are missed."""


@dataclass(frozen=True, slots=True)
class QaOptions:
    """What is trained, beyond :class:`modelkit.training.options.TrainOptions`.

    Attributes:
        common: the options of both kinds of engines.
        test: questions whose paragraphs must not be among the data.
        prune_tokens: make a network that drops tokens on the way (:mod:`modelkit.token_pruning`).
    """

    common: TrainOptions
    test: Path | None = None
    prune_tokens: bool = False


def train(options: QaOptions, display: Display) -> dict[str, object]:
    """Trains a question answering engine, or goes on with a run that was interrupted.

    Returns:
        The scores, as on the model card.

    Raises:
        ModelkitError: data, base or run are not fit for it.
    """
    common = options.common
    common.check_out()
    device = choose_device(common.device)
    recipe = adjust(QaRecipe().on_gpu() if device.type == "cuda" else QaRecipe(), common)
    seed = recipe.schedule.seed
    data = qa_data.gather(common.data, test=options.test, validation=common.validation)
    base = find_base(*common.bases, kinds=(BERT, MPNET))
    folder = common.folder
    tokenizer = None if folder.finished else _tokenizer(base, recipe)
    kept = _kept(options, recipe)
    unused = [name for name, used in (("pruning", kept), ("cut", recipe.cut)) if not used]
    given = common.describe(base, options.test, recipe, unused)
    if kept:
        given["kept_tokens"] = list(kept)
    given = common.begin(given)
    display.say(f"{len(data.training)} questions, {len(data.validation)} for validation, on {device}")
    # What lies beside finished weights belongs to them, whatever the base.
    base.keep(folder.path, kept, replace=not folder.finished)
    if tokenizer is not None:
        torch.manual_seed(seed)
        network = base.span_network(kept, whole=common.export_only).to(device)
        teachers = _teachers(common.teachers, base.tokenizer, data, device)
        task = QaTask(network, data, tokenizer, recipe, teachers)
        if recipe.cut and not folder.interrupted:
            display.say("looking for the heads and neurons that are missed least")
            cut_units(network, measure_importance(network, task.row_losses(_LOOKED_AT)), recipe.cut, kept)
        hold_cut_units(network)
        common.run(task, recipe.schedule, display)
    display.say("exporting, compressing and calibrating")
    if warning := small_validation_warning(len(data.validation), "questions"):
        display.say(warning)
    return qa_engine.finish(
        load_spans(common.out),
        common.out,
        training=data.training,
        validation=data.validation,
        card={"task": "extractive question answering", **given},
        seed=seed,
    )


def _kept(options: QaOptions, recipe: QaRecipe) -> tuple[int, ...]:
    """Tells how many tokens go on after the first layers of the network; empty for all.

    Raises:
        TrainingError: settings of pruning were given without it.
    """
    folder = options.common.folder.path
    if options.common.export_only and (folder / CONFIG).exists():
        # The weights are there already: they decide.
        return tuple(getattr(encoder_config(folder), KEPT_TOKENS, None) or ())
    if not options.prune_tokens and recipe.pruning != Pruning():
        raise TrainingError("kept_first and the like say how tokens are dropped: add --prune-tokens, or leave them out")
    return recipe.pruning.kept if options.prune_tokens else ()


def _tokenizer(base: Base, recipe: QaRecipe) -> DocumentTokenizer:
    """Makes what cuts the windows to train on.

    Raises:
        TrainingError: the network cannot read such windows.
    """
    config = encoder_config(base.directory)
    longest = positions(config)
    if recipe.window > longest:
        raise TrainingError(f"window={recipe.window} cannot be: {base.name} reads {longest} tokens at most: set fewer")
    try:
        tokenizer = DocumentTokenizer(base.tokenizer, recipe.window, recipe.overlap)
    except ValueError as error:
        raise TrainingError(f"window={recipe.window}, overlap={recipe.overlap}: {error}") from error
    if config.model_type == BERT:
        types = int(tokenizer.encode("?", ".").token_type_ids.max()) + 1
        if config.type_vocab_size < types:
            raise TrainingError(
                f"{base.name} has type_vocab_size {config.type_vocab_size}, but its tokenizer tells question and "
                f"document apart by {types} token types: take another base, or mend its tokenizer"
            )
    return tokenizer


def _teachers(directories: Sequence[Path], tokenizer: Path, data: QaData, device: torch.device) -> Teachers:
    """Loads teachers, who may have their pupil's tokens under other numbers."""
    pairs = [(question.text, question.context) for question in data.validation]
    every = [load_spans(directory, traceable=False) for directory in directories]
    return Teachers(
        [translate_pairs(each.network.unpruned(), tokenizer, each.tokenizer, pairs).to(device) for each in every]
    )
