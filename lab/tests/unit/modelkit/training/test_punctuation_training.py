"""Punctuation, from a SQuAD file and a text file to an engine directory, with a BERT of two small layers."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.bert.network_files import network_file
from engines.bert.punctuator import Punctuator, WordTokenizer, load_spellings
from engines.bert.session import BertSession
from lab.tests.unit.modelkit.training.small_data import Recorder, Silent, write_squad
from modelkit.errors import DataError, TrainingError
from modelkit.punctuation import IGNORED, PERIOD
from modelkit.training.bases import find_base
from modelkit.training.options import TrainOptions
from modelkit.training.punctuation import PunctuationOptions, train
from modelkit.training.punctuation_data import gather, running_texts
from modelkit.training.punctuation_recipe import PunctuationRecipe
from modelkit.training.punctuation_rows import make_batches, make_rows, tokenize
from modelkit.training.punctuation_task import NetworkSession
from modelkit.training.saved import load_punctuation
from modelkit.training.small_base import cut

if TYPE_CHECKING:
    from pathlib import Path

THINGS = ("music", "soup", "pizza", "rain", "steel")


def write_text(path: Path, paragraphs: int = 40, first: int = 0) -> Path:
    lines = (
        f"They lost the {THINGS[n % 5]}, the {THINGS[n % 3]} and the old map. Now I want {THINGS[n % 4]}. Is it late?"
        for n in range(paragraphs)
    )
    path.write_text("\n".join(f"{line} They have {number}." for number, line in enumerate(lines, first)))
    return path


@pytest.fixture(scope="module")
def engine(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("punctuation")
    data = (write_squad(folder / "squad.json"), write_text(folder / "text.txt"))
    settings = ("validations=1", "batch_tokens=200", "layers=1", "pieces=150", "learning_rate=0.003", "average=0.9")
    common = TrainOptions(
        data, folder / "engine", (tiny_base,), validation=0.2, epochs=24, device="cpu", settings=settings
    )
    display = Recorder()
    train(PunctuationOptions(common, write_text(folder / "test.txt", 3, first=90)), display)
    assert any(
        " paragraphs and questions were held out for validation, and with fewer than 100" in line
        for line in display.said
    )
    return folder / "engine"


def test_texts_become_an_engine_that_punctuates(engine: Path):
    version = engine / "triton" / "punctuation" / "1"
    session = BertSession(network_file(version))
    assert set(session.outputs) == {"mark_logits", "case_logits"}
    punctuator = Punctuator(
        session, WordTokenizer(version / "tokenizer.json"), load_spellings(version / "spellings.json")
    )
    (text,) = punctuator.punctuate(["they lost the soup the pizza and the old map now i want rain is it late"])
    assert text.startswith("They lost the soup")
    assert "the old map. Now I want rain. Is" in text
    assert text.endswith("late?")
    scores = json.loads((engine / "card.json").read_text())["scores"]
    assert set(scores) == {"validation", "test"}
    assert scores["validation"]["full_stop"] > 0.5


def test_the_base_is_cut_to_its_first_layers_and_commonest_pieces(tiny_base: Path, tmp_path: Path):
    base = find_base(tiny_base)
    small = cut(base, tmp_path, layers=1, pieces=120)
    whole, kept = base.punctuation_network().encoder, small.punctuation_network().encoder
    assert kept.config.num_hidden_layers == 1
    weights = kept.embeddings.word_embeddings.weight.detach().numpy()
    assert (weights == whole.embeddings.word_embeddings.weight.detach().numpy()[:120]).all()
    vocabulary = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    assert set(vocabulary.values()) == set(range(120))


def test_special_tokens_are_not_cut_away(tiny_base: Path, tmp_path: Path):
    with pytest.raises(TrainingError, match="pieces=3 leaves out the special tokens: keep 4 or more"):
        cut(find_base(tiny_base), tmp_path, layers=1, pieces=3)


def test_the_network_and_its_export_agree(engine: Path):
    saved = load_punctuation(engine)
    tokenizer = WordTokenizer(saved.tokenizer)
    texts = [["they", "lost", "the", "map"], ["is", "it", "late"] * 60]
    exported = BertSession(network_file(engine / "triton" / "punctuation" / "1"))
    judged = [Punctuator(s, tokenizer, {}).judge(texts) for s in (NetworkSession(saved.network), exported)]
    for ours, theirs in zip(*judged, strict=True):
        assert (ours.marks.argmax(-1) == theirs.marks.argmax(-1)).mean() > 0.9
        assert ours.cases.shape == theirs.cases.shape


def test_running_text_is_cut_into_rows_that_hold_every_word_once(tiny_base: Path, tmp_path: Path):
    data = gather([write_text(tmp_path / "text.txt")], test=None, validation=0.2)
    tokenizer = WordTokenizer(tiny_base / "tokenizer.json")
    labelled = tokenize(data.training, tokenizer)
    rows = make_rows(labelled, tokenizer, PunctuationRecipe(), random.Random(1))
    marks = [int(mark) for row in rows for mark in row.targets[:, 0] if mark != IGNORED]
    assert marks == [word.mark for passage in data.training for word in passage.words]
    ending = np.mean([row.targets[row.targets[:, 0] != IGNORED][-1, 0] >= PERIOD for row in rows])
    assert 0.5 < ending < 1
    batches = make_batches(rows, 300, random.Random(2))
    assert sum(len(batch.ids) for batch in batches) == len(rows)
    assert all(batch.ids.numel() <= 300 or len(batch.ids) == 1 for batch in batches)
    assert all(((batch.marks != IGNORED) <= (batch.mask == 1)).all() for batch in batches)


def test_paragraphs_are_scored_with_one_of_their_questions(tmp_path: Path):
    data = gather([write_squad(tmp_path / "squad.json")], test=None, validation=0.3)
    for text in running_texts(data.validation):
        assert " ".join(word.text for word in text).endswith(("when was it built", "who played"))


def test_what_cannot_be_trained_on_is_named(tmp_path: Path):
    text = write_text(tmp_path / "text.txt")
    with pytest.raises(DataError, match=r"40 paragraphs of .*text\.txt are among the training data"):
        gather([text], test=text, validation=0.2)
    careless = tmp_path / "careless.txt"
    careless.write_text("no capitals here. none at all.\n")
    with pytest.raises(DataError, match=r"careless\.txt holds no text with capitals"):
        gather([careless], test=None, validation=0.2)
    with pytest.raises(DataError, match="too few"):
        gather([write_text(tmp_path / "one.txt", 1)], test=None, validation=0.2)
    with pytest.raises(TrainingError, match="--teachers"):
        train(PunctuationOptions(TrainOptions((text,), tmp_path / "out", teachers=(tmp_path,))), Silent())
