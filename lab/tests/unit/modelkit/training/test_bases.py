"""Bases that are damaged, incomplete, or do not fit together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from safetensors.torch import load_file, save_file

from engines.bert.intent_decoding import IntentLabels
from modelkit.errors import TrainingError
from modelkit.networks import BERT, MPNET, load_encoder
from modelkit.training.bases import Base, find_base

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

LABELS = IntentLabels(("order", "none"), ("O", "B-size", "I-size"))


@pytest.fixture
def base(tiny_base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_base, tmp_path / "base"))


def refused(given: Path, match: str) -> None:
    with pytest.raises(TrainingError, match=match):
        find_base(given, kinds=(BERT, MPNET)).span_network()


def save(base: Path, state: dict[str, Tensor]) -> None:
    save_file(state, base / "model.safetensors", {"format": "pt"})


def load(base: Path) -> dict[str, Tensor]:
    return load_file(base / "model.safetensors")


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_a_missing_tensor_is_named(base: Path):
    state = load(base)
    del state["encoder.layer.1.output.dense.weight"]
    save(base, state)
    refused(base, r"base lacks the tensors encoder\.layer\.1\.output\.dense\.weight: give the whole checkpoint")


def test_tensors_under_the_names_of_another_framework_are_missed(base: Path):
    save(base, {f"bert_model.{name}": tensor for name, tensor in load(base).items()})
    refused(base, r"lacks the tensors embeddings\.\S+, .* and \d+ more: .* under the names of transformers")


def test_heads_and_a_pooler_may_be_there(base: Path):
    state = load(base)
    more = {"bert.pooler.dense.weight": torch.zeros(32, 32), "qa_outputs.weight": torch.zeros(2, 32)}
    save(base, {f"bert.{name}": tensor for name, tensor in state.items()} | more)
    loaded = load_encoder(base).state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in state.items())


def test_half_precision_is_trained_in_single(base: Path):
    save(base, {name: tensor.half() for name, tensor in load(base).items()})
    change(base / "config.json", dtype="float16")
    assert {tensor.dtype for tensor in load_encoder(base).parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"intermediate_size": 48}, "both must have the same sizes"),
        ({"num_hidden_layers": 3}, r"lacks the tensors encoder\.layer\.2\."),
        ({"num_attention_heads": 5}, "base holds no network that can be loaded"),
        ({"hidden_size": "wide"}, "base holds no network that can be loaded"),
        ({"model_type": "gpt2"}, "is a gpt2: training starts from a bert or mpnet"),
    ],
)
def test_a_configuration_of_another_network_is_refused(base: Path, fields: dict[str, object], match: str):
    change(base / "config.json", **fields)
    refused(base, match)


@pytest.mark.parametrize(
    ("name", "damaged", "match"),
    [
        ("model.safetensors", lambda content: content[: len(content) // 2], "base holds no network that can be loaded"),
        ("config.json", lambda content: content[:20], r"config\.json, line \d+: .*: get it again"),
        ("config.json", lambda _: b"[]", r"config\.json is no configuration of a network"),
        ("tokenizer.json", lambda content: content[:100], "is no tokenizer of the tokenizers library"),
    ],
)
def test_damaged_files_are_refused(base: Path, name: str, damaged: Callable[[bytes], bytes], match: str):
    (base / name).write_bytes(damaged((base / name).read_bytes()))
    refused(base, match)


def test_a_vocabulary_of_another_network_is_refused(base: Path):
    path = base / "tokenizer.json"
    fields = json.loads(path.read_text())
    vocabulary = fields["model"]["vocab"]
    fields["model"]["vocab"] = vocabulary | {"more": len(vocabulary), "words": len(vocabulary) + 1}
    path.write_text(json.dumps(fields))
    with pytest.raises(TrainingError, match=r"tokens does not fit the .* word embeddings"):
        find_base(base)


def engine(folder: Path, base: Path, network: Callable[[Base], torch.nn.Module], seed: int = 1) -> Path:
    """Writes what training leaves of an engine, whose heads are as they began."""
    torch.manual_seed(seed)
    start = find_base(base)
    start.keep(folder / "training")
    torch.save(network(start).state_dict(), folder / "training" / "network.pt")
    return folder


def write_labels(engine: Path, tags: tuple[str, ...] = LABELS.tags) -> None:
    fields = {"intents": LABELS.intents, "tags": tags, "temperature": 1.0, "threshold": 0.0}
    (engine / "training" / "labels.json").write_text(json.dumps(fields))


def test_an_engine_for_another_task_is_refused(tiny_base: Path, tmp_path: Path):
    match = r"network\.pt holds another kind of network: name an engine of the same task"
    answers = engine(tmp_path / "answers", tiny_base, Base.span_network)
    intents = engine(tmp_path / "intents", tiny_base, lambda base: base.intent_slot_network(LABELS, 0.1))
    write_labels(intents)
    refused(intents, match)
    for _ in range(2):
        with pytest.raises(TrainingError, match=match):
            find_base(answers).intent_slot_network(LABELS, 0.1)
        write_labels(answers)  # Labels do not make it an engine for intents.


def intents(folder: Path, base: Path, seed: int, tags: tuple[str, ...] = LABELS.tags) -> Path:
    labels = IntentLabels(LABELS.intents, tags)
    made = engine(folder, base, lambda start: start.intent_slot_network(labels, 0.1), seed)
    write_labels(made, tags)
    return made


def test_several_engines_are_begun_from_with_the_mean_of_their_weights(tiny_base: Path, tmp_path: Path):
    engines = [intents(tmp_path / str(number), tiny_base, number) for number in range(3)]
    base = find_base(*engines)
    assert base.name == "mean of engines 0, 1, 2"
    assert base.directory == engines[0] / "training"
    own = [find_base(each).intent_slot_network(LABELS, 0.1).tag.weight for each in engines]
    assert not torch.equal(own[0], own[1])
    torch.testing.assert_close(base.intent_slot_network(LABELS, 0.1).tag.weight, sum(own) / 3)


def test_answers_and_punctuation_are_begun_from_with_the_mean_too(tiny_base: Path, tmp_path: Path):
    for number, network in enumerate((Base.span_network, Base.punctuation_network)):
        engines = [engine(tmp_path / f"{number}{seed}", tiny_base, network) for seed in range(2)]
        path = engines[1] / "training" / "network.pt"
        state = torch.load(path)
        torch.save({name: value + 2 for name, value in state.items()}, path)
        got = network(find_base(*engines)).state_dict()
        assert got.keys() == state.keys()
        for name, value in got.items():
            torch.testing.assert_close(value, state[name] + 1)


def test_the_mean_is_taken_of_engines_only(tiny_base: Path, tmp_path: Path):
    made = intents(tmp_path / "made", tiny_base, 1)
    with pytest.raises(
        TrainingError, match=r"is no engine: of several --base the weights' mean is taken, name engines"
    ):
        find_base(made, tiny_base)


def test_engines_that_read_or_say_other_things_have_no_mean(tiny_base: Path, tmp_path: Path):
    one, two = (intents(tmp_path / name, tiny_base, 1) for name in ("one", "two"))
    colours = intents(tmp_path / "colours", tiny_base, 1, ("O", "B-colour", "I-colour"))
    with pytest.raises(TrainingError, match="engine colours and engine one have different intents or slots"):
        find_base(one, two, colours)
    tokenizer = two / "training" / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    with pytest.raises(TrainingError, match="engine two and engine one have different tokenizers"):
        find_base(one, two)


def test_guesses_of_the_layers_that_are_left_are_kept(tiny_base: Path, tmp_path: Path):
    made = engine(tmp_path / "made", tiny_base, lambda start: start.span_network((96, 72)))
    base = find_base(made)
    first, second = base.span_network((96, 72)).guess_weights()
    assert abs(first).max() > 0
    (kept,) = base.span_network((80,), whole=True).guess_weights()
    assert (kept == first).all()
    assert (kept != second).any()


def test_what_would_begin_at_random_is_refused_where_the_whole_network_is_wanted(tiny_base: Path, tmp_path: Path):
    once = engine(tmp_path / "once", tiny_base, lambda start: start.span_network((96,)))
    with pytest.raises(TrainingError, match=r"engine once drops tokens in 1 layers, not in 2: train, without --export"):
        find_base(once).span_network((96, 72), whole=True)
    made = intents(tmp_path / "made", tiny_base, 1)
    more = IntentLabels((*LABELS.intents, "music"), (*LABELS.tags, "B-song", "I-song"))
    with pytest.raises(
        TrainingError, match=r"engine made does not know B-song, I-song, music: train, without --export"
    ):
        find_base(made).intent_slot_network(more, 0.1, whole=True)
    assert find_base(made).intent_slot_network(LABELS, 0.1, whole=True).tag.out_features == 3


def test_networks_of_different_shapes_have_no_mean(tiny_base: Path, tmp_path: Path):
    one, two = (engine(tmp_path / name, tiny_base, Base.span_network) for name in ("one", "two"))
    path = two / "training" / "network.pt"
    torch.save({name: value[:1] for name, value in torch.load(path).items()}, path)
    with pytest.raises(TrainingError, match=r"two.*and .*one.* hold networks of different shapes"):
        find_base(one, two).span_network()


def test_damaged_labels_are_refused(tiny_base: Path, tmp_path: Path):
    made = intents(tmp_path / "made", tiny_base, 1)
    (made / "training" / "labels.json").write_text("{")
    with pytest.raises(TrainingError, match=r"labels\.json"):
        find_base(made).intent_slot_network(LABELS, 0.1)


def test_an_engine_with_a_damaged_configuration_is_refused(tiny_base: Path, tmp_path: Path):
    answers = engine(tmp_path / "answers", tiny_base, Base.span_network)
    (answers / "training" / "config.json").write_text("{")
    refused(answers, r"config\.json, line 1: ")
