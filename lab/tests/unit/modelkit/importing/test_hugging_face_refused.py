"""What of Hugging Face's directories cannot be imported, and what is said then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from lab.tests.unit.modelkit.importing.checkpoints import (
    ANSWERS,
    INTENTS,
    SEQUENCES,
    SLOTS,
    TOKENS,
    VOCABULARY,
    change,
    config_of,
    hugging_face,
    make,
    network_in,
    refused,
    scattered,
)
from modelkit.errors import CheckpointError
from modelkit.importing.checkpoint import read_checkpoint
from modelkit.importing.engine import write_engine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def answers(tmp_path) -> Path:
    hugging_face(tmp_path / "qa", "bert", ANSWERS)
    return tmp_path / "qa"


class Runs:
    """A pickle that makes a folder when it is read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self):
        return __import__("os").mkdir, (self.folder,)


def test_missing_tensors_are_named(answers, tmp_path):
    state = load_file(answers / "model.safetensors")
    del state["qa_outputs.bias"], state["bert.encoder.layer.1.output.dense.weight"]
    save_file(state, answers / "model.safetensors")
    refused([answers], tmp_path / "engine", r"lacks the tensors bert\.encoder\.layer\.1.*, qa_outputs\.bias")


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"model_type": "gpt2"}, "architecture gpt2, which cannot be imported: take BERT"),
        ({"architectures": ["BertForMaskedLM"]}, "BertForMaskedLM, which has no head"),
        ({"architectures": None}, "no class that its config.json names"),
        ({"vocab_size": 7}, "its configuration says 7 by 32"),
        ({"hidden_size": 64}, "its configuration says .* by 64"),
        ({"intermediate_size": 40}, "both must have the same sizes"),
        ({"num_attention_heads": 5}, "its configuration makes no network"),
        ({"hidden_size": "wide"}, "its configuration cannot be read"),
        ({"is_decoder": True}, "is a decoder"),
        ({"max_position_embeddings": 512, "quantization_config": {}}, "is quantized already"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(answers, tmp_path, fields, match):
    change(answers, **fields)
    refused([answers], tmp_path / "engine", match)


def test_a_vocabulary_that_is_too_large_is_refused(answers, tmp_path):
    (answers / "vocab.txt").write_text("\n".join([*VOCABULARY, "more", "words"]))
    refused([answers], tmp_path / "engine", "tokens does not fit the .* word embeddings")


def test_a_vocabulary_of_another_network_is_refused(tmp_path):
    hugging_face(tmp_path / "qa", "bert", ANSWERS)
    scattered(transformers.BertForQuestionAnswering(config_of("bert").__class__(**{
        **config_of("bert").to_dict(), "vocab_size": 4000}))).save_pretrained(tmp_path / "qa")  # fmt: skip
    refused([tmp_path / "qa"], tmp_path / "engine", "does not fit the 4,000 word embeddings")


def test_a_pickle_that_would_run_code_is_not_run(answers, tmp_path):
    (answers / "model.safetensors").unlink()
    torch.save({"weight": Runs(str(tmp_path / "made"))}, answers / "pytorch_model.bin")
    refused([answers], tmp_path / "engine", "reading it could run code")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_truncated_weights_are_refused(answers, tmp_path, name):
    if name == "pytorch_model.bin":
        torch.save(load_file(answers / "model.safetensors"), answers / name)
        (answers / "model.safetensors").unlink()
    content = (answers / name).read_bytes()
    (answers / name).write_bytes(content[: len(content) // 2])
    refused([answers], tmp_path / "engine", f"{name}.* truncated")


@pytest.mark.parametrize("content", [b"Repository not found", b"\x80\x02.", b""])
def test_weights_that_are_no_file_of_pytorch_are_refused(answers, tmp_path, content):
    (answers / "model.safetensors").unlink()
    (answers / "pytorch_model.bin").write_bytes(content)
    refused([answers], tmp_path / "engine", "pytorch_model.bin is")


@pytest.mark.parametrize("length", [30, 60, 90, 120, 150, 200, 1000, 5000])
def test_a_pickle_of_the_old_format_cut_short_is_refused(answers, tmp_path, length):
    torch.save(
        load_file(answers / "model.safetensors"), answers / "pytorch_model.bin", _use_new_zipfile_serialization=False
    )
    (answers / "model.safetensors").unlink()
    (answers / "pytorch_model.bin").write_bytes((answers / "pytorch_model.bin").read_bytes()[:length])
    refused([answers], tmp_path / "engine", "pytorch_model.bin (is|holds)")


def test_tensors_without_names_are_refused(answers, tmp_path):
    (answers / "model.safetensors").unlink()
    torch.save({0: torch.zeros(3)}, answers / "pytorch_model.bin")
    refused([answers], tmp_path / "engine", "is no mapping of names to tensors")


def test_shards_outside_of_the_directory_are_refused(answers, tmp_path):
    (answers / "model.safetensors").unlink()
    index = {"weight_map": {"a": "../elsewhere.safetensors"}}
    (answers / "model.safetensors.index.json").write_text(json.dumps(index))
    refused([answers], tmp_path / "engine", "does not lie beside it")


@pytest.mark.parametrize(
    ("missing", "match"),
    [
        ("model.safetensors", "has no weights"),
        ("vocab.txt", "has no tokenizer"),
        ("config.json", "cannot be read"),
    ],
)
def test_missing_files_are_named(answers, tmp_path, missing, match):
    (answers / missing).unlink()
    with pytest.raises(ValueError, match=match):
        make([answers], tmp_path / "engine")
    assert not (tmp_path / "engine").exists()


def test_damaged_numbers_are_refused(answers, tmp_path):
    state = load_file(answers / "model.safetensors")
    state["qa_outputs.bias"].fill_(float("nan"))
    save_file(state, answers / "model.safetensors")
    refused([answers], tmp_path / "engine", "no numbers|differ by nan")


@pytest.mark.parametrize(
    ("labels", "fields", "match"),
    [
        (None, {"num_labels": 5}, "LABEL_0"),
        (("O", "B-x", "B-x"), {}, "same label more than once"),
        (("B-x", "I-x", "B-y"), {}, "need O"),
        (("O", "x", "y"), {"id2label": {"0": "O", "1": "x"}}, "as many labels as outputs"),
        (("O", "x", "y"), {"id2label": {"0": "O", "2": "x"}}, "without gaps"),
        (("O", "x", "y"), {"id2label": {"0": "O"}}, "chooses among two"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, labels, fields, match):
    hugging_face(tmp_path / "intents", "bert", SEQUENCES, INTENTS)
    hugging_face(tmp_path / "slots", "bert", TOKENS, labels, **(fields if labels is None else {}))
    change(tmp_path / "slots", **(fields if labels else {"id2label": {str(n): f"LABEL_{n}" for n in range(5)}}))
    refused([tmp_path / "intents", tmp_path / "slots"], tmp_path / "engine", match)


def test_half_an_intent_engine_is_refused(tmp_path):
    hugging_face(tmp_path / "intents", "bert", SEQUENCES, INTENTS)
    refused([tmp_path / "intents"], tmp_path / "engine", "token classifier for its slots")
    (tmp_path / "other").mkdir()
    refused([tmp_path / "intents"] * 2, tmp_path / "other" / "engine", "not of BertForSequenceClassification and")


@pytest.mark.parametrize(
    ("kind", "setting"),
    [("bert", {"do_lower_case": False}), ("bert", {"strip_accents": False}), ("roberta", {"add_prefix_space": True})],
)
def test_two_tokenizers_are_refused(kind, setting, tmp_path):
    hugging_face(tmp_path / "intents", kind, SEQUENCES, INTENTS)
    hugging_face(tmp_path / "slots", kind, TOKENS, SLOTS)
    (tmp_path / "slots" / "tokenizer_config.json").write_text(json.dumps(setting))
    refused([tmp_path / "intents", tmp_path / "slots"], tmp_path / "engine", "different tokenizers")


def test_another_task_than_asked_for_is_refused(answers, tmp_path):
    refused([answers], tmp_path / "engine", "leave out --task nlu", task="nlu")


def test_what_was_there_stays_when_an_import_is_refused(answers, tmp_path):
    make([answers], tmp_path / "engine")
    before = (tmp_path / "engine" / "card.json").read_bytes(), network_in(tmp_path / "engine", "qa").read_bytes()
    (answers / "vocab.txt").unlink()
    (tmp_path / "again").mkdir()
    with pytest.raises(CheckpointError):
        write_engine(read_checkpoint([answers], tmp_path / "again"), tmp_path / "engine")
    assert before == (
        (tmp_path / "engine" / "card.json").read_bytes(),
        network_in(tmp_path / "engine", "qa").read_bytes(),
    )
