"""Engine directories: written as a whole, laid over the shipped models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from engines.bert.decoder_files import load_intent_decoder
from engines.bert.intent_decoding import IntentLabels
from engines.bert.network_files import network_file
from engines.bert.span_decoding import Calibration
from engines.build.files import whole_directory, write_whole
from modelkit.cards import name_data
from modelkit.errors import EngineError
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS, served_models, write_nlu, write_qa
from service.triton.repository import NoEngineError, overlaid

if TYPE_CHECKING:
    from pathlib import Path

LABELS = IntentLabels(("greet", "none"), ("O", "B-name", "I-name"), 1.5, 0.25)
VALUES = {"name": ["Ada", "Zoë"]}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "mine.onnx"
    path.write_bytes(b"network")
    return path


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    return path


@pytest.fixture
def engine(tmp_path: Path, network: Path, tokenizer: Path) -> Path:
    folder = tmp_path / "deep" / "engine"
    write_nlu(folder, onnx=network, tokenizer=tokenizer, labels=LABELS, card={"task": "x"}, slot_values=VALUES)
    return folder


def test_an_engine_directory_has_models_that_triton_can_read(engine):
    assert [path.name for path in served_models(engine)] == sorted(NLU_MODELS)
    for path in served_models(engine):
        config = text_format.Parse((path / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
        assert config.name == path.name
        assert (path / "1").is_dir()
    decode = engine / "triton" / "intent_slot_decode" / "1"
    assert IntentLabels.load(decode / "labels.json") == LABELS
    assert json.loads((decode / "slot_values.json").read_text()) == VALUES
    assert network_file(engine / "triton" / "intent_slot_bert" / "1").read_bytes() == b"network"
    assert set(json.loads((engine / "card.json").read_text())) == {"date", "task"}


def test_what_is_no_engine_directory_is_refused(tmp_path):
    with pytest.raises(EngineError, match="is no engine directory: it needs triton/"):
        served_models(tmp_path)


def test_an_engine_for_answers(tmp_path, network, tokenizer):
    calibration = Calibration(0.1, 0.2, 0.3, 0.4)
    write_qa(tmp_path / "qa", onnx=network, tokenizer=tokenizer, calibration=calibration, card={"date": "2020-01-01"})
    assert [path.name for path in served_models(tmp_path / "qa")] == sorted(QA_MODELS)
    assert Calibration.load(tmp_path / "qa" / "triton" / "qa_decode" / "1" / "calibration.json") == calibration
    assert json.loads((tmp_path / "qa" / "card.json").read_text()) == {"date": "2020-01-01"}


def test_what_fails_leaves_nothing_behind_and_the_old_engine_as_it_was(tmp_path, engine, network, tokenizer):
    before = sorted(path for path in engine.rglob("*"))
    for folder in (engine, tmp_path / "new" / "engine"):
        with pytest.raises(FileNotFoundError):
            write_nlu(folder, onnx=tmp_path / "none.onnx", tokenizer=tokenizer, labels=LABELS, card={})
    assert sorted(path for path in engine.rglob("*")) == before
    assert not (tmp_path / "new").exists()


def test_writing_again_replaces_the_models_alone(engine, network, tokenizer):
    (engine / "training").mkdir()
    write_nlu(engine, onnx=network, tokenizer=tokenizer, labels=LABELS, card={})
    assert not (engine / "triton" / "intent_slot_decode" / "1" / "slot_values.json").exists()
    assert {path.name for path in engine.iterdir()} == {"card.json", "training", "triton"}


def test_the_later_engine_is_laid_over_the_shipped_models(tmp_path, engine):
    models = overlaid(MODEL_REPOSITORY, (engine,))
    assert models["intent_slot"] == (engine / "triton" / "intent_slot").resolve()
    assert models["qa"] == MODEL_REPOSITORY / "qa"
    with pytest.raises(NoEngineError, match="is no engine directory"):
        overlaid(MODEL_REPOSITORY, (engine, tmp_path))


@pytest.mark.parametrize("names", [(), ("a.onnx", "b.onnx")])
def test_a_version_has_one_network(tmp_path, names):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=rf"must hold one \.onnx file, but has {len(names)}"):
        network_file(tmp_path)


def test_a_folder_takes_its_place_when_it_is_whole(tmp_path):
    target = tmp_path / "a" / "b"
    for content in ("one", "two"):
        with whole_directory(target) as folder:
            (folder / content).touch()
            assert not (target / content).exists()
    assert [path.name for path in target.iterdir()] == ["two"]
    assert [path.name for path in target.parent.iterdir()] == ["b"]
    write_whole(target / "file", "text")
    assert sorted(path.name for path in target.iterdir()) == ["file", "two"]


def test_data_is_named_with_its_licence_and_digest(tmp_path):
    (tmp_path / "home").mkdir()
    for path in (tmp_path / "home" / "train.jsonl", tmp_path / "mine.json"):
        path.write_text("x")
    named = name_data([tmp_path / "home" / "train.jsonl", tmp_path / "mine.json"])
    assert "CC BY 4.0" in named["home/train.jsonl"]["source"]
    own = named[f"{tmp_path.name}/mine.json"]
    assert own == {"source": "own data", "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}


def test_of_a_domain_only_what_is_read_of_it_is_named(tmp_path):
    for name in (".git", "v1.0"):
        (tmp_path / "pizza" / name).mkdir(parents=True)
    for name in ("sentences.txt", "slot_values.json", ".DS_Store", "notes.md"):
        (tmp_path / "pizza" / name).write_text(name)
    assert list(name_data([tmp_path / "pizza"])) == ["pizza/sentences.txt", "pizza/slot_values.json"]


def test_kinds_and_hints_travel_with_an_engine(tmp_path, network, tokenizer):
    kinds = {"least": 0.1, "kinds": {"greet": ["command"]}}
    hints = [{"phrases": ['a "quoted"\\ caf\u00e9'], "boost": None}]
    write_nlu(
        tmp_path / "e", onnx=network, tokenizer=tokenizer, labels=LABELS, card={"task": "x"}, kinds=kinds, hints=hints
    )
    triton = tmp_path / "e" / "triton"
    config = text_format.Parse((triton / "intent_slot" / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    assert json.loads(config.parameters["phrase_hints"].string_value) == hints
    decoder = load_intent_decoder(triton / "intent_slot_decode" / "1")
    assert decoder._kinds is not None
    assert json.loads((triton / "intent_slot_decode" / "1" / "intent_kinds.json").read_text()) == kinds


def test_an_engine_without_either_tells_kinds_and_takes_all(engine):
    triton = engine / "triton"
    config = text_format.Parse((triton / "intent_slot" / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    assert "phrase_hints" not in config.parameters
    assert not (triton / "intent_slot_decode" / "1" / "intent_kinds.json").exists()
    assert load_intent_decoder(triton / "intent_slot_decode" / "1")._kinds is not None
