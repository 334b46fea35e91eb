"""An MPNet of two small layers as base of an engine, and as teacher of a BERT with the same pieces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from engines.bert.tokenizing import UtteranceTokenizer
from modelkit.errors import TrainingError
from modelkit.training.bases import find_base
from modelkit.training.nlu import NluOptions, train
from modelkit.training.nlu_task import predict
from modelkit.training.options import TrainOptions
from modelkit.training.saved import load_intents
from modelkit.training.vocabularies import Translated, translation
from tests.tiny_bert import write_tiny_mpnet
from tests.unit.modelkit.training.test_nlu_training import Silent, fields, options, understand, write_domain

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ("i want a large pizza with ham", "bring me zzyzx \N{SNOWMAN} now!", "basil")


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_mpnet(tmp_path_factory.mktemp("mpnet"))


@pytest.fixture(scope="module")
def engine(mpnet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nlu")
    train(options(write_domain(folder / "pizza"), folder / "engine", mpnet, intents=("order",)), Silent())
    return folder / "engine"


def test_an_engine_begins_with_an_mpnet(engine: Path):
    got = understand(engine, "i want a large pizza with a little bit of cheese")
    assert got.intent == "order"
    assert {slot.name: slot.value for slot in got.slots} == {"size": "large", "topping": "a little bit of cheese"}


def test_it_reads_what_a_bert_is_given(engine: Path, tiny_base: Path):
    saved = load_intents(engine)
    ids = translation(tiny_base / "tokenizer.json", saved.tokenizer, TEXTS)
    assert ids is not None
    own = predict(saved.network, TEXTS, UtteranceTokenizer(saved.tokenizer))
    read = predict(Translated(saved.network, ids), TEXTS, UtteranceTokenizer(tiny_base / "tokenizer.json"))
    np.testing.assert_allclose(read.intents, own.intents, atol=1e-6)
    words = own.offsets[..., 0] >= 0
    np.testing.assert_allclose(read.tags[words], own.tags[words], atol=1e-6)


def test_it_teaches_a_bert(engine: Path, tiny_base: Path, tmp_path: Path):
    given = options(write_domain(tmp_path / "pizza"), tmp_path / "taught", tiny_base, intents=("order",)).common
    taught = TrainOptions(**{**fields(given), "epochs": 0.1, "teachers": (engine,)})
    train(NluOptions(taught, ("order",)), Silent())
    assert json.loads((tmp_path / "taught" / "card.json").read_text())["teachers"]


def test_the_same_vocabulary_needs_no_translation(tiny_base: Path):
    assert translation(tiny_base / "tokenizer.json", tiny_base / "tokenizer.json", TEXTS) is None


def test_a_teacher_that_cuts_texts_otherwise_is_refused(tiny_base: Path, tmp_path: Path):
    other = Tokenizer.from_file(str(tiny_base / "tokenizer.json"))
    fields = json.loads(other.to_str())
    del fields["model"]["vocab"]["pizza"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    with pytest.raises(TrainingError, match=r"cuts texts into other pieces than .*: both must have one vocabulary"):
        translation(tiny_base / "tokenizer.json", tmp_path / "tokenizer.json", TEXTS)


def test_answers_are_not_looked_for_with_an_mpnet(mpnet: Path):
    with pytest.raises(TrainingError, match=r"is a mpnet: training starts from a bert here; `vivavoce import` takes"):
        find_base(mpnet)


def test_ids_are_translated_where_they_are(tiny_base: Path, mpnet: Path):
    ids = translation(tiny_base / "tokenizer.json", mpnet / "tokenizer.json", TEXTS)
    assert isinstance(ids, torch.Tensor)
    pieces, others = (Tokenizer.from_file(str(base / "tokenizer.json")).get_vocab() for base in (tiny_base, mpnet))
    assert ids[[pieces[name] for name in ("[CLS]", "[SEP]", "pizza", "##z", "[UNK]")]].tolist() == [
        others[name] for name in ("<s>", "</s>", "pizza", "##z", "[UNK]")
    ]
