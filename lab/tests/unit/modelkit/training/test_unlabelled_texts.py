"""Texts without labels: how they are made, and that a pupil learns of them what its teachers think and nothing else."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from engines.bert.intent_decoding import IntentLabels
from engines.bert.tokenizing import UtteranceTokenizer
from lab.tests.unit.modelkit.training.small_data import Silent, write_jsonl
from modelkit.errors import TrainingError
from modelkit.neighbours import WordNeighbours
from modelkit.nlu import Utterance
from modelkit.training.bases import find_base
from modelkit.training.distillation import Teachers
from modelkit.training.nlu import NluOptions, train
from modelkit.training.nlu_data import NluData, NluFiles, gather
from modelkit.training.nlu_recipe import NluRecipe
from modelkit.training.nlu_rows import make_batches, make_rows, make_unlabelled_rows
from modelkit.training.nlu_task import NluTask
from modelkit.training.nlu_texts import Augmenter, EpochTexts, word_neighbours
from modelkit.training.options import TrainOptions

if TYPE_CHECKING:
    from pathlib import Path

LABELS = IntentLabels(("music", "order"), ("O", "B-song", "I-song"))
UTTERANCES = tuple(Utterance(f"play song {n}", "music", ()) for n in range(30))


class Certain(torch.nn.Module):
    """A teacher who takes everything for an order that is one song."""

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        del mask
        intents = torch.tensor([0.0, 50.0]).expand(len(ids), 2)
        tags = torch.tensor([0.0, 50.0, 0.0]).expand(*ids.shape, 3)
        return intents, tags


@pytest.fixture
def neighbours() -> WordNeighbours:
    words = {"tea": 0, "coffee": 1, "car": 2, "##s": 3, "lorry": 4}
    table = np.array([[1, 0.1], [1, 0], [-1, 0], [5, 5], [-1, 0.1]], np.float32)
    return WordNeighbours(words, table)


def vocabulary_of(base: Path) -> dict[str, int]:
    return Tokenizer.from_file(str(base / "tokenizer.json")).get_vocab()


def data_of(utterances: tuple[Utterance, ...], unlabelled: tuple[str, ...] = ()) -> NluData:
    return NluData(utterances, utterances[:2], (), {}, unlabelled, (), {}, {}, of_sentences=False)


def test_words_give_way_to_their_neighbours(neighbours):
    rng = random.Random(0)
    found = {neighbours.perturb("Tea by car", 0.5, rng) for _ in range(200)}
    assert {"tea by car", "coffee by car", "tea by lorry", "tea car"} <= found
    assert all(text for text in found)
    assert not any("##" in text for text in found)
    assert neighbours.perturb("Tea by car", 0.0, rng) == "tea by car"
    assert neighbours.perturb("unheard-of", 1.0, rng) == "unheard-of"


def test_a_quarter_of_the_texts_is_taken_from_files(tiny_base: Path, neighbours):
    recipe = NluRecipe(unlabelled_per_epoch=40, perturbation=0.0)
    data = data_of(UTTERANCES, tuple(f"file {n}" for n in range(100)))
    augmenter = Augmenter(data, recipe, vocabulary_of(tiny_base))
    drawn = EpochTexts(data, recipe, augmenter, neighbours).unlabelled(random.Random(0))
    assert len(drawn) == 40
    assert sum(text.startswith("file") for text in drawn) == 10
    assert EpochTexts(data, recipe, augmenter).unlabelled(random.Random(0)) == []


def test_of_texts_without_labels_the_teachers_opinion_is_learnt(tiny_base: Path):
    tokenizer = UtteranceTokenizer(tiny_base / "tokenizer.json")
    base = find_base(tiny_base)
    torch.manual_seed(0)
    network = base.intent_slot_network(LABELS, dropout=0.0)
    recipe = NluRecipe(teacher_weight=0.5, perturbation=0.0, unlabelled_per_epoch=8)
    data = data_of(UTTERANCES)
    vocabulary = vocabulary_of(tiny_base)
    texts = EpochTexts(data, recipe, Augmenter(data, recipe, vocabulary), word_neighbours(network, vocabulary))
    task = NluTask(network, data, LABELS, tokenizer, texts, recipe, Teachers([Certain()]))
    (unlabelled,) = make_batches(make_unlabelled_rows(["play song 1", "who"], tokenizer), 8, random.Random(0))
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = task.loss(unlabelled)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1  # Nothing else pulls: against the labels of O it could not become small.
    intents, tags = network(unlabelled.ids, unlabelled.mask)
    assert intents.argmax(-1).tolist() == [1, 1]
    assert set(tags.argmax(-1)[:, 1].tolist()) == {1}

    rows = [*make_rows(UTTERANCES[:2], LABELS, tokenizer), *make_unlabelled_rows(["play song 1"] * 2, tokenizer)]
    (mixed,) = make_batches(rows, 8, random.Random(0))
    # Two labelled texts of four, whose labels count one half: a quarter of the loss is against the labels.
    (labelled,) = make_batches(rows[:2], 8, random.Random(0))
    without = NluTask(network, data, LABELS, tokenizer, texts, recipe, Teachers([]))
    with torch.no_grad():
        hard, soft = without.loss(labelled).item(), task.loss(unlabelled).item()
        assert task.loss(mixed).item() == pytest.approx(0.25 * hard + 0.75 * soft, rel=0.05)


def test_an_epoch_shows_them_beside_the_utterances(tiny_base: Path):
    base = find_base(tiny_base)
    network = base.intent_slot_network(LABELS, dropout=0.0)
    recipe, data = NluRecipe(unlabelled_per_epoch=12), data_of(UTTERANCES)
    vocabulary = vocabulary_of(tiny_base)
    texts = EpochTexts(data, recipe, Augmenter(data, recipe, vocabulary), word_neighbours(network, vocabulary))
    tokenizer = UtteranceTokenizer(base.tokenizer)
    batches = NluTask(network, data, LABELS, tokenizer, texts, recipe, Teachers([Certain()])).batches(0)
    assert sum(int((batch.intents == -2).sum()) for batch in batches) == 12
    assert sum(int((batch.intents >= 0).sum()) for batch in batches) == len(UTTERANCES)


def test_what_the_network_is_judged_on_is_not_among_them(tmp_path: Path):
    path = write_jsonl(tmp_path / "data.jsonl", *((f"play {n}", "ab"[n % 2]) for n in range(40)))
    test = write_jsonl(tmp_path / "test.jsonl", ("stop", "a"))
    talk = tmp_path / "talk.txt"
    talk.write_text("\n".join(["STOP", "hello", "hello", *(f"Play {n}" for n in range(40))]))
    data = gather([path], NluFiles(unlabelled=(str(talk),), test=test), validation=0.3, seed=1)
    trained = {f"Play {utterance.text.split()[1]}" for utterance in data.training}
    assert set(data.unlabelled) == {"hello", *trained}
    assert len(data.unlabelled) == 1 + len(trained)


def test_they_are_of_no_use_without_teachers(tiny_base: Path, tmp_path: Path):
    path = write_jsonl(tmp_path / "data.jsonl", ("go", "a"), ("stop", "b"))
    options = NluOptions(TrainOptions((path,), tmp_path / "out", (tiny_base,)), NluFiles(unlabelled=(str(path),)))
    with pytest.raises(TrainingError, match="--unlabelled: name some with --teachers"):
        train(options, Silent())
