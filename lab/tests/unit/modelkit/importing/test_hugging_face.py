from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn

from engines.bert.intent_decoding import IntentDecoder, IntentLabels
from engines.bert.session import BertSession
from engines.bert.tokenizing import DocumentTokenizer, UtteranceTokenizer
from lab.tests.unit.modelkit.importing.checkpoints import (
    ANSWERS,
    INTENTS,
    KINDS,
    SEQUENCES,
    SLOTS,
    TOKENS,
    VOCABULARY,
    config_of,
    greatest_difference,
    hugging_face,
    make,
    network_in,
    original,
    padded_batch,
    refused,
    save_tokenizer,
    scattered,
    served,
)

if TYPE_CHECKING:
    from pathlib import Path

ENGINE_TAGS = ["O", "B-place", "I-place", "B-time", "I-time"]
IN_ENGINE_ORDER = [SLOTS.index(tag) for tag in ENGINE_TAGS]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_have_the_logits_of_the_original(kind, tmp_path):
    network = hugging_face(tmp_path / "qa", kind, ANSWERS)
    card = make([tmp_path / "qa"], tmp_path / "engine")
    session = BertSession(network_in(tmp_path / "engine", "qa"))
    segments = kind in ("bert", "electra")
    assert ("token_type_ids" in session.inputs) == segments
    batch = padded_batch(len(VOCABULARY), segments=segments)
    expected, got = original(network, batch), served(session, batch)
    assert np.ptp(expected["start_logits"]) > 0.1
    for name in ("start_logits", "end_logits"):
        assert greatest_difference(got[name], expected[name], batch["attention_mask"]) <= 1e-4
    assert card["fused_attention_layers"] == 2
    assert "--calibrate" in card["calibration"]
    files = json.loads((tmp_path / "engine" / "card.json").read_text())["imported"]["networks"][0]["files"]
    tokenizer = "tokenizer.json" if kind == "roberta" else "vocab.txt"
    assert files.keys() == {"config.json", "model.safetensors", tokenizer, "tokenizer_config.json"}


def test_a_network_that_knows_one_kind_of_token_is_not_told_of_two(tmp_path):
    network = hugging_face(tmp_path / "qa", "bert", ANSWERS, type_vocab_size=1)
    make([tmp_path / "qa"], tmp_path / "engine")
    session = BertSession(network_in(tmp_path / "engine", "qa"))
    assert set(session.inputs) == {"input_ids", "attention_mask"}
    batch = padded_batch(len(VOCABULARY), segments=False)
    expected, got = original(network, batch), served(session, batch)
    for name in ("start_logits", "end_logits"):
        assert greatest_difference(got[name], expected[name], batch["attention_mask"]) <= 1e-4


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_question_and_document_are_joined_as_transformers_joins_them(kind, tmp_path):
    hugging_face(tmp_path / "qa", kind, ANSWERS)
    make([tmp_path / "qa"], tmp_path / "engine")
    question, document = "Who is jimmie's friend?", "Turn on the lights  in the kitchen, Eiffel."
    batch = DocumentTokenizer(tmp_path / "engine/triton/qa_tokenize/1/tokenizer.json").encode(question, document)
    expected = transformers.AutoTokenizer.from_pretrained(tmp_path / "qa")(question, document)
    assert batch.input_ids[0].tolist() == expected["input_ids"]
    pieces = [document[start:end] for start, end in batch.offsets[0] if start >= 0]
    assert "".join(pieces) == document.replace(" ", "")
    asked = batch.input_ids[0][batch.segments[0] == 0].tolist()
    assert asked == expected["input_ids"][1 : 1 + len(asked)]


@pytest.mark.parametrize(("intents", "slots"), [("bert", "bert"), ("roberta", "roberta"), ("distilbert", "electra")])
def test_two_directories_are_one_engine_with_the_logits_of_both(intents, slots, tmp_path):
    one = hugging_face(tmp_path / "intents", intents, SEQUENCES, INTENTS)
    other = hugging_face(tmp_path / "slots", slots, TOKENS, SLOTS)
    make([tmp_path / "slots", tmp_path / "intents"], tmp_path / "engine")
    batch = padded_batch(len(VOCABULARY), segments=False)
    got = served(BertSession(network_in(tmp_path / "engine", "intent_slot")), batch)
    assert greatest_difference(got["intent_logits"], original(one, batch)["logits"]) <= 1e-4
    expected = original(other, batch)["logits"][..., IN_ENGINE_ORDER]
    assert greatest_difference(got["tag_logits"], expected, batch["attention_mask"]) <= 1e-4
    labels = IntentLabels.load(tmp_path / "engine/triton/intent_slot_decode/1/labels.json")
    assert labels.intents == INTENTS
    assert list(labels.tags) == ENGINE_TAGS


def test_byte_level_words_are_tagged_whole_and_without_their_spaces(tmp_path):
    hugging_face(tmp_path / "intents", "roberta", SEQUENCES, INTENTS)
    hugging_face(tmp_path / "slots", "roberta", TOKENS, SLOTS)
    make([tmp_path / "intents", tmp_path / "slots"], tmp_path / "engine")
    tokenizer = UtteranceTokenizer(tmp_path / "engine/triton/intent_slot_tokenize/1/tokenizer.json")
    text = "wake me  in Kyoto 😀 please"
    (offsets,) = tokenizer.encode([text]).offsets
    assert [text[start:end] for start, end in offsets if start >= 0] == ["wake", "me", "in", "Kyoto", "😀", "please"]


class JointBert(nn.Module):
    """What the public implementation of JointBERT computes, with its names of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.bert = transformers.BertModel(config_of("bert"))
        self.intent_classifier, self.slot_classifier = nn.Module(), nn.Module()
        self.intent_classifier.linear = nn.Linear(32, len(INTENTS))
        self.slot_classifier.linear = nn.Linear(32, 2 + len(SLOTS))

    def forward(self, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        outputs = self.bert(**inputs)
        tags = self.slot_classifier.linear(outputs.last_hidden_state)
        return {"intents": self.intent_classifier.linear(outputs.pooler_output), "tags": tags}


def save_joint(directory: Path, state: dict[str, torch.Tensor]) -> None:
    directory.mkdir()
    torch.save(state, directory / "pytorch_model.bin")
    (directory / "config.json").write_text(config_of("bert", architectures=["JointBERT"]).to_json_string())
    (directory / "intent_label.txt").write_text("\n".join(INTENTS))
    (directory / "slot_label.txt").write_text("\n".join(("PAD", "UNK", *SLOTS)))
    save_tokenizer("bert", directory)


def test_a_joint_directory_has_the_logits_of_the_original(tmp_path):
    network = scattered(JointBert())
    directory = tmp_path / "joint"
    save_joint(directory, network.state_dict())
    make([directory], tmp_path / "engine")
    batch = padded_batch(len(VOCABULARY), segments=False)
    got, expected = served(BertSession(network_in(tmp_path / "engine", "intent_slot")), batch), original(network, batch)
    assert greatest_difference(got["intent_logits"], expected["intents"]) <= 1e-4
    rows = [2 + index for index in IN_ENGINE_ORDER]
    assert greatest_difference(got["tag_logits"], expected["tags"][..., rows], batch["attention_mask"]) <= 1e-4


@pytest.mark.parametrize(
    ("name", "shape", "match"),
    [
        ("slot_classifier.linear.weight", (7, 64), "is 7 by 64, and 7 by 32 would fit: give heads of the same encoder"),
        ("slot_classifier.linear.weight", (7,), "is 7, and 7 by 32 would fit"),
        ("slot_classifier.linear.weight", (), "is one number, and 0 by 32 would fit"),
        ("intent_classifier.linear.bias", (4,), "is 4, and 3 would fit"),
    ],
)
def test_heads_of_another_encoder_are_refused(tmp_path, name, shape, match):
    save_joint(tmp_path / "joint", JointBert().state_dict() | {name: torch.zeros(shape)})
    refused([tmp_path / "joint"], tmp_path / "engine", f"joint: {name} {match}")


def test_a_missing_head_is_named(tmp_path):
    state = JointBert().state_dict()
    del state["slot_classifier.linear.bias"]
    save_joint(tmp_path / "joint", state)
    refused([tmp_path / "joint"], tmp_path / "engine", r"joint lacks the tensor slot_classifier\.linear\.bias")


def test_a_crf_is_refused_rather_than_left_out(tmp_path):
    tags = 2 + len(SLOTS)
    crf = {"crf.start_transitions": torch.zeros(tags), "crf.transitions": torch.zeros(tags, tags)}
    save_joint(tmp_path / "joint", JointBert().state_dict() | crf)
    refused([tmp_path / "joint"], tmp_path / "engine", r"by a CRF \(crf\.start_transitions\).*without --use_crf")


def test_a_crf_beside_a_token_classifier_is_refused(tmp_path):
    hugging_face(tmp_path / "intents", "bert", SEQUENCES, INTENTS)
    hugging_face(tmp_path / "slots", "bert", TOKENS, SLOTS)
    state = load_file(tmp_path / "slots" / "model.safetensors") | {"crf.transitions": torch.zeros(5, 5)}
    save_file(state, tmp_path / "slots" / "model.safetensors")
    refused([tmp_path / "intents", tmp_path / "slots"], tmp_path / "engine", r"slots chooses its slots by a CRF")


def test_labels_without_edges_join_neighbouring_words(tmp_path):
    hugging_face(tmp_path / "intents", "bert", SEQUENCES, INTENTS)
    network = hugging_face(tmp_path / "slots", "bert", TOKENS, ("place", "O", "time"))
    with torch.no_grad():
        network.classifier.weight.zero_()
        network.classifier.bias.copy_(torch.tensor([0.0, 0.0, 5.0]))
    network.save_pretrained(tmp_path / "slots")
    make([tmp_path / "intents", tmp_path / "slots"], tmp_path / "engine")
    labels = IntentLabels.load(tmp_path / "engine/triton/intent_slot_decode/1/labels.json")
    tokenizer = UtteranceTokenizer(tmp_path / "engine/triton/intent_slot_tokenize/1/tokenizer.json")
    batch = tokenizer.encode(["wake me at seven"])
    session = BertSession(network_in(tmp_path / "engine", "intent_slot"))
    got = served(session, {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask})
    (understood,) = IntentDecoder(labels).decode(["wake me at seven"], batch.offsets, *got.values())
    assert [(slot.name, slot.start, slot.end) for slot in understood.slots] == [("time", 0, 16)]


def test_old_pickles_with_old_names_of_tensors_are_read(tmp_path):
    network = hugging_face(tmp_path / "qa", "bert", ANSWERS)
    (tmp_path / "qa" / "model.safetensors").unlink()
    old = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for key, tensor in network.state_dict().items()
    }
    torch.save(old, tmp_path / "qa" / "pytorch_model.bin")
    make([tmp_path / "qa"], tmp_path / "engine")
    batch = padded_batch(len(VOCABULARY), segments=True)
    got = served(BertSession(network_in(tmp_path / "engine", "qa")), batch)
    expected = original(network, batch)["end_logits"]
    assert greatest_difference(got["end_logits"], expected, batch["attention_mask"]) <= 1e-4


def test_shards_are_joined(tmp_path):
    network = hugging_face(tmp_path / "qa", "bert", ANSWERS)
    network.save_pretrained(tmp_path / "qa", max_shard_size="20KB")
    (tmp_path / "qa" / "model.safetensors").unlink(missing_ok=True)
    assert len(list((tmp_path / "qa").glob("*.safetensors"))) > 1
    make([tmp_path / "qa"], tmp_path / "engine")
    assert network_in(tmp_path / "engine", "qa").exists()


@pytest.mark.parametrize("positions", [32, 64])
def test_a_network_of_few_positions_gets_windows_that_it_can_read(positions, tmp_path):
    hugging_face(tmp_path / "qa", "bert", ANSWERS, max_position_embeddings=positions)
    make([tmp_path / "qa"], tmp_path / "engine")
    tokenizer = DocumentTokenizer(tmp_path / "engine/triton/qa_tokenize/1/tokenizer.json")
    batch = tokenizer.encode("who " * 50, "the tower is named after eiffel . " * 30)
    assert batch.input_ids.shape[1] == positions
    served(BertSession(network_in(tmp_path / "engine", "qa")), vars_of(batch))


def vars_of(batch) -> dict[str, np.ndarray]:
    return {name: getattr(batch, name) for name in ("input_ids", "attention_mask", "token_type_ids")}
