"""Training of the network for text: ``python -m modelkit.turn.words DATA… --out DIR``.

It leaves ``words.int8.onnx`` and ``tokenizer.json`` in the folder, and with them the run that made them.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.turn.words import WordTokenizer
from modelkit.cards import name_data
from modelkit.compress import compress
from modelkit.errors import ModelkitError
from modelkit.export import export
from modelkit.networks import load_encoder, new_encoder
from modelkit.training.bases import find_base
from modelkit.training.checkpoint import NETWORK as WEIGHTS
from modelkit.training.checkpoint import RunFolder, load_tensors
from modelkit.training.loop import train_to_end
from modelkit.training.progress import new_display
from modelkit.training.small_base import cut
from modelkit.turn.texts import draw, read_sources, split
from modelkit.turn.word_network import INPUTS, OUTPUTS, WholenessNetwork
from modelkit.turn.word_task import WordRecipe, WordTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modelkit.training.progress import Display
    from modelkit.turn.texts import Source

NETWORK, TOKENIZER = "words.int8.onnx", "tokenizer.json"
_SAMPLES = 400
"""Inputs on which the ranges of the activations are measured."""


def train(data: Sequence[Path], out: Path, recipe: WordRecipe, display: Display, base: Path | None = None) -> None:
    """Trains and writes the network, or goes on with a run that was interrupted.

    Args:
        data: see :func:`modelkit.turn.texts.read_sources`.
        out: folder to write.
        recipe: how.
        display: where progress is shown.
        base: BERT to begin with, as Hugging Face stores it; None for MiniLM.

    Raises:
        ModelkitError: the data are not fit for it.
    """
    training, held_out = split(read_sources(data), recipe.held_out, random.Random(recipe.schedule.seed))
    folder = RunFolder(out / "training")
    folder.begin({"data": name_data(data), "recipe": asdict(recipe)})
    display.say(f"{sum(len(source.utterances) for source in training)} utterances")
    if not folder.finished:
        torch.manual_seed(recipe.schedule.seed)
        with TemporaryDirectory() as directory:
            small = cut(find_base(*([base] if base else [])), Path(directory), recipe.layers, recipe.pieces)
            small.keep(folder.path)
            network = WholenessNetwork(load_encoder(small.directory, dropout=0.1))
        task = WordTask(network, training, held_out, WordTokenizer(folder.path / TOKENIZER), recipe)
        train_to_end(task, recipe.schedule, folder, display)
    shutil.copy(folder.path / TOKENIZER, out / TOKENIZER)
    _export(folder.path, training, out / NETWORK)


def _export(folder: Path, training: Sequence[Source], target: Path) -> None:
    # Attention as it is trained is none that the exporter recognizes.
    network = WholenessNetwork(new_encoder(folder))
    network.load_state_dict(load_tensors(folder / WEIGHTS))
    examples = draw(training, random.Random(0))[:_SAMPLES]
    encoded = WordTokenizer(folder / TOKENIZER).rows([example.words for example in examples])
    rows = [row[np.newaxis] for row in encoded]
    with TemporaryDirectory() as directory:
        plain = Path(directory, "plain.onnx")
        export(network, plain, INPUTS, OUTPUTS)
        compress(plain, target, [{"input_ids": row, "attention_mask": np.ones_like(row)} for row in rows])


def main() -> int:
    """Trains the network; returns the exit status."""
    parser = argparse.ArgumentParser(description="Train the network for text of end_of_turn.")
    parser.add_argument("data", nargs="+", type=Path, help="utterances, SQuAD files, sentences, folders of domains")
    parser.add_argument("--out", required=True, type=Path, help="folder to write")
    parser.add_argument("--epochs", type=float, help="passes over the data")
    options = parser.parse_args()
    recipe = WordRecipe()
    if options.epochs:
        recipe = replace(recipe, schedule=replace(recipe.schedule, epochs=options.epochs))
    try:
        with new_display() as display:
            train(options.data, options.out, recipe, display)
    except ModelkitError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
