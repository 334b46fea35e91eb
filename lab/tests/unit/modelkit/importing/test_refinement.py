from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from engines.bert.session import BertSession
from engines.bert.span_decoding import Calibration
from lab.tests.tiny_bert import write_tiny_bert
from lab.tests.unit.modelkit.importing.checkpoints import (
    ANSWERS,
    INTENTS,
    SEQUENCES,
    SLOTS,
    TOKENS,
    VOCABULARY,
    hugging_face,
    network_in,
    padded_batch,
    served,
)
from modelkit.errors import CheckpointError, DataError
from modelkit.export import QA_INPUTS
from modelkit.importing import refinement
from modelkit.importing.checkpoint import read_checkpoint
from modelkit.importing.engine import FORCED, write_engine
from modelkit.importing.refinement import Refinement, in_8_bits

if TYPE_CHECKING:
    from pathlib import Path


def squad(path: Path, contexts: list[str]) -> Path:
    paragraphs = [
        {
            "context": context,
            "qas": [{"id": f"{n}", "question": "Who is it?", "answers": [{"answer_start": 4, "text": context[4:9]}]}],
        }
        for n, context in enumerate(contexts)
    ]
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
    return path


def make(sources: list[Path], out: Path, refinement: Refinement) -> dict[str, object]:
    scratch = out.with_name("scratch")
    scratch.mkdir()
    return write_engine(read_checkpoint(sources, scratch), out, refinement)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra"])
def test_answers_in_8_bits_are_calibrated_as_they_are_served(kind, tmp_path):
    hugging_face(tmp_path / "qa", kind, ANSWERS)
    data = squad(tmp_path / "squad.json", [f"the tower number {n} is named after eiffel" for n in range(6)])
    card = make([tmp_path / "qa"], tmp_path / "engine", Refinement(int8=data, calibrate=data))
    assert "INT8" in card["precision"]
    assert card["calibration"]["fitted_on"] == "squad.json"
    network = network_in(tmp_path / "engine", "qa")
    assert network.name == "model.int8.onnx"
    served(BertSession(network), padded_batch(len(VOCABULARY), segments=True))
    calibration = Calibration.load(tmp_path / "engine/triton/qa_decode/1/calibration.json")
    assert calibration.threshold > FORCED.threshold


def test_8_bits_are_not_made_of_8_bits(tmp_path):
    hugging_face(tmp_path / "qa", "bert", ANSWERS)
    data = squad(tmp_path / "squad.json", [f"the tower number {n} is named after eiffel" for n in range(3)])
    make([tmp_path / "qa"], tmp_path / "engine", Refinement(int8=data))
    small = network_in(tmp_path / "engine", "qa")
    shutil.copy(tmp_path / "qa" / "vocab.txt", small.parent)
    (tmp_path / "scratch").rename(tmp_path / "before")
    with pytest.raises(CheckpointError, match=r"the network's weights are .*int8 already: leave out --int8"):
        make([small], tmp_path / "again", Refinement(int8=data))
    assert not (tmp_path / "again").exists()


def test_intents_in_8_bits_are_close_to_float32(tmp_path):
    hugging_face(tmp_path / "intents", "bert", SEQUENCES, INTENTS)
    hugging_face(tmp_path / "slots", "bert", TOKENS, SLOTS)
    sources = [tmp_path / "intents", tmp_path / "slots"]
    texts = ["wake me up at seven", "turn on the lights in the kitchen", "what is the weather in paris"]
    lines = [json.dumps({"text": text, "intent": "lights", "slots": []}) for text in texts]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    make(sources, tmp_path / "float32", Refinement())
    (tmp_path / "scratch").rename(tmp_path / "before")
    make(sources, tmp_path / "int8", Refinement(int8=tmp_path / "texts.jsonl"))
    batch = padded_batch(len(VOCABULARY), segments=False)
    one, other = (served(BertSession(network_in(tmp_path / n, "intent_slot")), batch) for n in ("float32", "int8"))
    spread = one["intent_logits"].max() - one["intent_logits"].min()
    assert 0 < abs(one["intent_logits"] - other["intent_logits"]).mean() < 0.15 * spread


def test_ranges_are_measured_on_windows_without_their_padding(tmp_path, monkeypatch):
    tokenizer = write_tiny_bert(tmp_path) / "tokenizer.json"
    data = squad(tmp_path / "squad.json", ["the river is a song " * 60, "the song"])
    measure = Mock()
    monkeypatch.setattr(refinement, "BertSession", lambda _: Mock(inputs=QA_INPUTS))
    monkeypatch.setattr(refinement, "compress", measure)
    in_8_bits("qa", tmp_path / "model.onnx", tmp_path / "model.int8.onnx", tokenizer, data)
    (_, _, samples), _ = measure.call_args
    assert len(samples) > 2
    assert all(feeds["attention_mask"].all() for feeds in samples)


def test_only_answers_are_calibrated(tmp_path):
    hugging_face(tmp_path / "intents", "bert", SEQUENCES, INTENTS)
    hugging_face(tmp_path / "slots", "bert", TOKENS, SLOTS)
    sources = [tmp_path / "intents", tmp_path / "slots"]
    data = squad(tmp_path / "squad.json", ["the tower", "the lights"])
    with pytest.raises(CheckpointError, match="only answers can be calibrated"):
        make(sources, tmp_path / "engine", Refinement(calibrate=data))
    assert not (tmp_path / "engine").exists()


@pytest.mark.parametrize("contexts", [[], ["the tower is named after eiffel"]])
def test_too_little_to_calibrate_on_is_refused(contexts, tmp_path):
    hugging_face(tmp_path / "qa", "bert", ANSWERS)
    data = squad(tmp_path / "squad.json", contexts)
    with pytest.raises(DataError, match=r"squad\.json"):
        make([tmp_path / "qa"], tmp_path / "engine", Refinement(calibrate=data))
    assert not (tmp_path / "engine").exists()


def test_questions_without_answers_are_nothing_to_calibrate_on(tmp_path):
    hugging_face(tmp_path / "qa", "bert", ANSWERS)
    data = squad(tmp_path / "squad.json", ["the tower", "the lights"])
    fields = json.loads(data.read_text())
    for paragraph in fields["data"][0]["paragraphs"]:
        paragraph["qas"][0]["answers"] = []
    data.write_text(json.dumps(fields))
    with pytest.raises(DataError, match=r"squad\.json has no question with an answer: calibrate on data with answers"):
        make([tmp_path / "qa"], tmp_path / "engine", Refinement(calibrate=data))
    assert not (tmp_path / "engine").exists()
