"""An MPNet of two small layers as base of an engine, and as teacher of a BERT with the same pieces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from engines.bert.network_files import network_file
from engines.bert.session import BertSession
from engines.bert.tokenizing import DocumentTokenizer, UtteranceTokenizer
from lab.tests.tiny_bert import write_tiny_mpnet
from lab.tests.unit.modelkit.training.small_data import Silent
from lab.tests.unit.modelkit.training.test_nlu_training import fields, options, understand, write_domain
from lab.tests.unit.modelkit.training.test_qa_training import train_quickly
from modelkit.errors import TrainingError
from modelkit.export import QA_OUTPUTS
from modelkit.training.bases import find_base
from modelkit.training.nlu import NluOptions, train
from modelkit.training.nlu_data import NluFiles
from modelkit.training.nlu_task import predict
from modelkit.training.options import TrainOptions
from modelkit.training.qa_task import NetworkSession
from modelkit.training.saved import load_intents, load_spans
from modelkit.training.vocabularies import translate, translate_pairs

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

PAIRS = (
    ("when was the bridge opened?", "the old bridge was opened in 12, zzyzx. it is long"),
    ("who lost a map?", "they went home late: rain \N{SNOWMAN} on pizza"),
)
TEXTS = ("i want a large pizza with ham", "bring me zzyzx \N{SNOWMAN} now!", "basil")


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_mpnet(tmp_path_factory.mktemp("mpnet"))


@pytest.fixture(scope="module")
def engine(mpnet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nlu")
    train(options(write_domain(folder / "pizza"), folder / "engine", mpnet, intents=("order",)), Silent())
    return folder / "engine"


@pytest.fixture(scope="module")
def answering(mpnet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_quickly(tmp_path_factory.mktemp("qa"), mpnet)


def test_an_engine_begins_with_an_mpnet(engine: Path):
    got = understand(engine, "i want a large pizza with a little bit of cheese")
    assert got.intent == "order"
    assert {slot.name: slot.value for slot in got.slots} == {"size": "large", "topping": "a little bit of cheese"}


def test_it_reads_what_a_bert_is_given(engine: Path, tiny_base: Path):
    saved = load_intents(engine)
    network = translate(saved.network, tiny_base / "tokenizer.json", saved.tokenizer, TEXTS)
    own = predict(saved.network, TEXTS, UtteranceTokenizer(saved.tokenizer))
    read = predict(network, TEXTS, UtteranceTokenizer(tiny_base / "tokenizer.json"))
    np.testing.assert_allclose(read.intents, own.intents, atol=1e-6)
    words = own.offsets[..., 0] >= 0
    np.testing.assert_allclose(read.tags[words], own.tags[words], atol=1e-6)


def test_it_teaches_a_bert(engine: Path, tiny_base: Path, tmp_path: Path):
    given = options(write_domain(tmp_path / "pizza"), tmp_path / "taught", tiny_base, intents=("order",)).common
    taught = TrainOptions(**{**fields(given), "epochs": 0.1, "teachers": (engine,)})
    train(NluOptions(taught, NluFiles(("order",))), Silent())
    assert json.loads((tmp_path / "taught" / "card.json").read_text())["teachers"]


def test_the_same_vocabulary_needs_no_translation(tiny_base: Path):
    network, tokenizer = torch.nn.Identity(), tiny_base / "tokenizer.json"
    assert translate(network, tokenizer, tokenizer, TEXTS) is network
    assert translate_pairs(network, tokenizer, tokenizer, PAIRS) is network


def test_a_teacher_that_cuts_texts_otherwise_is_refused(tiny_base: Path, tmp_path: Path):
    other = Tokenizer.from_file(str(tiny_base / "tokenizer.json"))
    fields = json.loads(other.to_str())
    del fields["model"]["vocab"]["pizza"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    tokenizers = tiny_base / "tokenizer.json", tmp_path / "tokenizer.json"
    for refused, texts in ((translate, TEXTS), (translate_pairs, PAIRS)):
        with pytest.raises(TrainingError, match=r"cuts texts into other pieces than .*: both must have one vocabulary"):
            refused(torch.nn.Identity(), *tokenizers, texts)


def test_texts_are_not_punctuated_with_an_mpnet(mpnet: Path):
    with pytest.raises(TrainingError, match=r"is a mpnet: training starts from a bert here; `vivavoce import` takes"):
        find_base(mpnet)


def test_ids_are_translated_where_they_are(tiny_base: Path, mpnet: Path):
    tokenizers = tiny_base / "tokenizer.json", mpnet / "tokenizer.json"
    network = translate(torch.nn.Identity(), *tokenizers, TEXTS)
    pieces, others = (Tokenizer.from_file(str(path)).get_vocab() for path in tokenizers)
    given = torch.tensor([[pieces[name] for name in ("[CLS]", "[SEP]", "pizza", "##z", "[UNK]")]])
    assert network(given).tolist() == [[others[name] for name in ("<s>", "</s>", "pizza", "##z", "[UNK]")]]


def test_an_engine_for_answers_begins_with_an_mpnet(answering: Path):
    session = BertSession(network_file(answering / "triton" / "qa_bert" / "1"))
    assert session.inputs == ("input_ids", "attention_mask")
    saved = load_spans(answering)
    batch = DocumentTokenizer(saved.tokenizer).encode(*PAIRS[0])
    (result,) = session.run([{name: getattr(batch, name) for name in session.inputs}])
    assert result["start_logits"].shape == batch.input_ids.shape


def test_it_reads_the_questions_that_a_bert_is_given(answering: Path, tiny_base: Path):
    saved, tokenizer = load_spans(answering), tiny_base / "tokenizer.json"
    own = document_logits(saved.network, saved.tokenizer)
    assert len(own) > 20
    read = document_logits(translate_pairs(saved.network, tokenizer, saved.tokenizer, PAIRS), tokenizer)
    np.testing.assert_allclose(read, own, atol=1e-6)


def test_it_teaches_a_bert_to_answer(answering: Path, tiny_base: Path, tmp_path: Path):
    engine = train_quickly(tmp_path, tiny_base, (answering,))
    assert json.loads((engine / "card.json").read_text())["teachers"]


def document_logits(network: torch.nn.Module, tokenizer: Path) -> npt.NDArray[np.float32]:
    """Runs all pairs at once; returns the logits of the documents' tokens and of what stands first."""
    batches = [DocumentTokenizer(tokenizer).encode(*pair) for pair in PAIRS]
    session = NetworkSession(network)
    results = session.run([{name: getattr(batch, name) for name in session.inputs} for batch in batches])
    chosen = [batch.segments == 1 for batch in batches]
    for places in chosen:
        places[:, 0] = True
    return np.concatenate(
        [result[name][places] for name in QA_OUTPUTS for result, places in zip(results, chosen, strict=True)]
    )
