"""``vivavoce train nlu``: from utterances to an engine directory."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer

from engines.bert.intent_decoding import NO_INTENT, IntentLabels
from engines.bert.tokenizing import UtteranceTokenizer
from engines.build.files import write_whole
from modelkit.cards import name_data
from modelkit.errors import TrainingError
from modelkit.networks import BERT, MPNET
from modelkit.nlu import collect_labels
from modelkit.plain_texts import split_name
from modelkit.training import nlu_engine
from modelkit.training.bases import LABELS, TOKENIZER, find_base
from modelkit.training.devices import choose_device
from modelkit.training.distillation import Teachers
from modelkit.training.nlu_data import FEW_INTENTS, NluData, NluFiles, gather
from modelkit.training.nlu_recipe import NluRecipe
from modelkit.training.nlu_task import NluTask
from modelkit.training.nlu_texts import Augmenter, EpochTexts, word_neighbours
from modelkit.training.options import TrainOptions, adjust
from modelkit.training.saved import load_intents
from modelkit.training.splits import small_validation_warning
from modelkit.training.vocabularies import translate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import nn

    from modelkit.training.bases import Base
    from modelkit.training.checkpoint import RunFolder
    from modelkit.training.progress import Display


@dataclass(frozen=True, slots=True)
class NluOptions:
    """What is trained, beyond :class:`modelkit.training.options.TrainOptions`.

    Attributes:
        common: the options of all kinds of engines.
        files: what is read beside ``common.data``.
    """

    common: TrainOptions
    files: NluFiles = field(default_factory=NluFiles)


def train(options: NluOptions, display: Display) -> dict[str, object]:
    """Trains an intent and slot engine, or goes on with a run that was interrupted.

    Returns:
        The scores, as on the model card.

    Raises:
        ModelkitError: data, base or run are not fit for it.
    """
    common = options.common
    common.check_out()
    if options.files.unlabelled and not common.teachers:
        raise TrainingError("only teachers can label the texts of --unlabelled: name some with --teachers")
    data = gather(common.data, options.files, validation=common.validation, seed=common.seed)
    device = choose_device(common.device)
    recipe = _recipe(data, common, device)
    base = find_base(*common.bases, kinds=(BERT, MPNET))
    folder = common.folder
    labels = _labels(folder, data)
    warning = small_validation_warning(len(data.validation), "utterances")
    given = common.begin(_given(options, base, recipe))
    # What lies beside finished weights belongs to them, whatever the base.
    base.keep(folder.path, replace=not folder.finished)
    if not folder.holds_own(LABELS):
        write_whole(folder.path / LABELS, json.dumps(asdict(labels), indent=1, ensure_ascii=False) + "\n")
    display.say(
        f"{len(data.training)} utterances, {len(data.validation)} for validation, {len(data.outliers)} outliers, "
        f"{len(labels.intents)} intents, {len(labels.slot_names)} kinds of slots, on {device}"
    )
    vocabulary = Tokenizer.from_file(str(folder.path / TOKENIZER)).get_vocab()
    augmenter = Augmenter(data, recipe, vocabulary)
    if data.of_sentences:
        rng = random.Random(recipe.schedule.seed)
        data = replace(data, validation=(*data.validation, *(augmenter.vary(u, rng) for u in data.validation)))
    card: dict[str, object] = {"task": "joint intent and slots", **given}
    if not folder.finished:
        torch.manual_seed(recipe.schedule.seed)
        network = base.intent_slot_network(labels, recipe.dropout, whole=common.export_only).to(device)
        teachers = _teachers(common.teachers, base.tokenizer, labels, data, device)
        wanted = teachers and recipe.unlabelled_per_epoch
        neighbours = word_neighbours(network, vocabulary) if wanted else None
        texts = EpochTexts(data, recipe, augmenter, neighbours)
        task = NluTask(network, data, labels, UtteranceTokenizer(base.tokenizer), texts, recipe, teachers)
        common.run(task, recipe.schedule, display)
    display.say("calibrating, exporting and compressing")
    scores = nlu_engine.finish(load_intents(common.out), common.out, data, augmenter, card, recipe.schedule.seed)
    if warning:
        display.say(warning)
    return scores


def make_labels(data: NluData) -> IntentLabels:
    """Names the outputs of a network for ``data``; of few intents ``none`` is one."""
    intents, tags = collect_labels([*data.training, *data.validation])
    if len(intents) < FEW_INTENTS and data.outliers and NO_INTENT not in intents:
        intents = (*intents, NO_INTENT)
    return IntentLabels(intents, tags)


def _labels(folder: RunFolder, data: NluData) -> IntentLabels:
    """Names the outputs of a network for ``data``, or of the one that lies in ``folder``.

    Raises:
        TrainingError: that one knows less than the data have.
    """
    if not folder.holds_own(LABELS):
        return make_labels(data)
    own = IntentLabels.load(folder.path / LABELS)
    found = IntentLabels(*collect_labels([*data.training, *data.validation]))
    pairs = ((found.intents, own.intents), (found.slot_names, own.slot_names))
    unknown = [name for names, known in pairs for name in names if name not in known]
    if unknown:
        raise TrainingError(
            f"{folder.path / LABELS} lacks {', '.join(unknown)}: give the data that the network was trained on"
        )
    return own


def _recipe(data: NluData, common: TrainOptions, device: torch.device) -> NluRecipe:
    recipe = NluRecipe.for_sentences(len(data.training)) if data.of_sentences else NluRecipe()
    return adjust(recipe.on_gpu() if device.type == "cuda" else recipe, common)


def _given(options: NluOptions, base: Base, recipe: NluRecipe) -> dict[str, object]:
    teachers = options.common.teachers
    unused = () if teachers else ("unlabelled_per_epoch", "perturbation")
    given = options.common.describe(base, options.files.test, recipe, unused)
    given.update(_describe_texts("outliers", "outlier_intents", options.files.outliers))
    if teachers:
        given.update(_describe_texts("unlabelled", "unlabelled_intents", options.files.unlabelled))
    return {**given, "intents": list(options.files.intents)}


def _describe_texts(name: str, name_of_intents: str, files: Sequence[str]) -> dict[str, object]:
    chosen = [split_name(given) for given in files]
    return {
        name: name_data(path for path, _ in chosen),
        name_of_intents: [intent for _, intents in chosen for intent in intents],
    }


def _teachers(
    directories: Sequence[Path], tokenizer: Path, labels: IntentLabels, data: NluData, device: torch.device
) -> Teachers:
    """Loads teachers, who may have their pupil's tokens under other numbers."""
    texts = [utterance.text for utterance in data.validation]
    teachers: list[nn.Module] = []
    for directory in directories:
        saved = load_intents(directory, traceable=False)
        if (saved.labels.intents, saved.labels.tags) != (labels.intents, labels.tags):
            raise TrainingError(f"the teacher {directory} has other intents or slots: train it on the same data")
        teachers.append(translate(saved.network, tokenizer, saved.tokenizer, texts).to(device))
    return Teachers(teachers)
