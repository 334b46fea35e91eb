from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest
import torch
import yaml
from tokenizers import Tokenizer

from engines.bert.intent_decoding import IntentLabels
from engines.bert.session import BertSession
from engines.bert.span_decoding import Calibration
from engines.bert.tokenizing import UtteranceTokenizer
from lab.tests.unit.modelkit.importing.checkpoints import (
    INTENTS,
    VOCABULARY,
    greatest_difference,
    nemo_answers,
    nemo_intent_slot,
    network_in,
    pack,
    padded_batch,
    served,
)
from modelkit.errors import CheckpointError, DataError
from modelkit.importing import archive, nemo_archive
from modelkit.importing.checkpoint import read_checkpoint
from modelkit.importing.engine import write_engine

if TYPE_CHECKING:
    from pathlib import Path

PLAIN_SLOTS = ("date", "place", "O")
CONFIG, WEIGHTS = "./model_config.yaml", "./model_weights.ckpt"


def make(path: Path, out: Path) -> dict[str, object]:
    scratch = out.with_name("scratch")
    scratch.mkdir()
    return write_engine(read_checkpoint([path], scratch), out)


def refused(path: Path, out: Path, match: str) -> None:
    with pytest.raises(CheckpointError, match=match):
        make(path, out)
    assert not out.exists()


def configured(members: dict[str, bytes], **fields) -> dict[str, bytes]:
    return members | {CONFIG: yaml.safe_dump(yaml.safe_load(members[CONFIG]) | fields).encode()}


def computed(network, batch) -> list:
    with torch.no_grad():
        return [output.numpy() for output in network(*map(torch.from_numpy, batch.values()))]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_intents_and_slots_have_the_logits_of_the_original(mode, tmp_path):
    slots = ("B-date", "I-date", "B-place", "O")
    network, members = nemo_intent_slot(slots)
    card = make(pack(tmp_path / "model.nemo", members, mode), tmp_path / "engine")
    batch = padded_batch(len(VOCABULARY), segments=False)
    got = served(BertSession(network_in(tmp_path / "engine", "intent_slot")), batch)
    intents, tags = computed(network, batch)
    assert greatest_difference(got["intent_logits"], intents) <= 1e-4
    found = got["tag_logits"][..., [1, 2, 3, 0]]
    assert greatest_difference(found, tags, batch["attention_mask"]) <= 1e-4
    labels = IntentLabels.load(tmp_path / "engine/triton/intent_slot_decode/1/labels.json")
    assert labels.intents == INTENTS
    assert labels.tags == ("O", "B-date", "I-date", "B-place", "I-place")
    assert card["imported"]["nemo"] == "1.23.0"


def test_plain_slots_keep_their_logits_and_words_end_at_spaces(tmp_path):
    network, members = nemo_intent_slot(PLAIN_SLOTS)
    make(pack(tmp_path / "model.nemo", members), tmp_path / "engine")
    batch = padded_batch(len(VOCABULARY), segments=False)
    got = served(BertSession(network_in(tmp_path / "engine", "intent_slot")), batch)["tag_logits"]
    (_, tags) = computed(network, batch)
    assert greatest_difference(got[..., [2, 4, 0]], tags, batch["attention_mask"]) <= 1e-4
    assert greatest_difference(got[..., [1, 3]], got[..., [2, 4]] - 1e-3, batch["attention_mask"]) <= 1e-5
    tokenizer = UtteranceTokenizer(tmp_path / "engine/triton/intent_slot_tokenize/1/tokenizer.json")
    text = "Who  is jimmie's friend, please?"
    (offsets,) = tokenizer.encode([text]).offsets
    assert [text[start:end] for start, end in offsets if start >= 0] == ["Who", "is", "jimmie's", "friend,", "please?"]


@pytest.mark.parametrize("layers", [1, 2])
def test_answers_have_the_logits_of_the_original(layers, tmp_path):
    network, members = nemo_answers(layers, version_2_with_negative=False)
    make(pack(tmp_path / "model.nemo", members), tmp_path / "engine")
    batch = padded_batch(len(VOCABULARY), segments=True)
    got = served(BertSession(network_in(tmp_path / "engine", "qa")), batch)
    for name, expected in zip(("start_logits", "end_logits"), computed(network, batch), strict=True):
        assert greatest_difference(got[name], expected, batch["attention_mask"]) <= 1e-4
    assert Calibration.load(tmp_path / "engine/triton/qa_decode/1/calibration.json").threshold == 0


def test_a_model_that_abstained_goes_on_abstaining(tmp_path):
    _, members = nemo_answers(version_2_with_negative=True, null_score_diff_threshold=-2.0, max_answer_length=12)
    card = make(pack(tmp_path / "model.nemo", members), tmp_path / "engine")
    calibration = Calibration.load(tmp_path / "engine/triton/qa_decode/1/calibration.json")
    assert calibration.threshold == pytest.approx(0.8808, abs=1e-4)
    assert calibration.max_answer_tokens == 12
    assert "null_score_diff_threshold" in card["calibration"]


@pytest.mark.parametrize("longest", ["long", [1], float("inf")])
def test_a_setting_that_is_no_number_is_refused(longest, tmp_path):
    _, members = nemo_answers(max_answer_length=longest)
    refused(pack(tmp_path / "model.nemo", members), tmp_path / "engine", r"no number for dataset\.max_answer_length")


def test_labels_may_stand_in_the_configuration(tmp_path):
    _, members = nemo_intent_slot(PLAIN_SLOTS)
    description = {
        "intent_label_ids": {name: number for number, name in enumerate(INTENTS)},
        "slot_label_ids": {"O": 2, "date": 0, "place": 1},
    }
    members = configured(members, class_labels=None, data_desc=description)
    make(pack(tmp_path / "model.nemo", members), tmp_path / "engine")
    labels = IntentLabels.load(tmp_path / "engine/triton/intent_slot_decode/1/labels.json")
    assert labels.tags == ("O", "B-date", "I-date", "B-place", "I-place")


@pytest.fixture
def members() -> dict[str, bytes]:
    return nemo_intent_slot(PLAIN_SLOTS)[1]


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"target": "nemo.collections.asr.models.EncDecCTCModel"}, "holds EncDecCTCModel, which cannot be imported"),
        ({"target": None}, "whose class it does not name"),
        ({"class_labels": None}, "has no intent labels"),
        ({"class_labels": {"intent_labels_file": "nemo:gone.csv"}}, "lacks gone.csv, which model_config.yaml names"),
        ({"language_model": {"config": {"model_type": "megatron"}}}, "architecture megatron"),
        ({"language_model": {}}, "does not say what its encoder is like"),
        ({"tokenizer": {"vocab_file": None}}, "no WordPiece vocabulary"),
        ({"target": ["a", "b"]}, "gives no text for target"),
        ({"nemo_version": [1, 23]}, "gives no text for nemo_version"),
        ({"class_labels": {"intent_labels_file": {"a": 1}}}, "gives no text for class_labels.intent_labels_file"),
        ({"language_model": {"config": {"model_type": ["bert"]}}}, "which cannot be imported"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(members, fields, match, tmp_path):
    refused(pack(tmp_path / "model.nemo", configured(members, **fields)), tmp_path / "engine", match)


def test_yaml_that_would_run_code_is_not_run(members, tmp_path):
    members[CONFIG] = f'!!python/object/apply:os.mkdir ["{tmp_path / "made"}"]'.encode()
    refused(pack(tmp_path / "model.nemo", members), tmp_path / "engine", "no plain YAML")
    assert not (tmp_path / "made").exists()


def test_vocabulary_and_labels_are_cut_at_line_feeds_alone(members, tmp_path):
    (vocabulary,) = (name for name in members if name.endswith("_vocab.txt"))
    words = [*VOCABULARY[:-2], "\u2028", VOCABULARY[-1]]
    members[vocabulary] = "\r\n".join(words).encode()
    members["./0b_slot_labels.csv"] = "date\r\nold\u2028place\r\nO\r\n".encode()
    make(pack(tmp_path / "model.nemo", members), tmp_path / "engine")
    tokenizer = Tokenizer.from_file(str(tmp_path / "engine/triton/intent_slot_tokenize/1/tokenizer.json"))
    assert tokenizer.get_vocab() == {word: number for number, word in enumerate(words)}
    labels = IntentLabels.load(tmp_path / "engine/triton/intent_slot_decode/1/labels.json")
    assert labels.tags == ("O", "B-date", "I-date", "B-old\u2028place", "I-old\u2028place")


def test_labels_that_do_not_count_as_the_outputs_are_refused(members, tmp_path):
    members["./0b_slot_labels.csv"] = b"date\nO\n"
    refused(pack(tmp_path / "model.nemo", members), tmp_path / "engine", "slot labels: 2 labels for 3 outputs")


@pytest.mark.parametrize(
    "missing",
    [
        "classifier.slot_mlp.layer2.bias",
        "classifier.intent_mlp.layer0.weight",
        "bert_model.encoder.layer.0.output.dense.weight",
    ],
)
def test_missing_tensors_are_named(members, missing, tmp_path):
    state = torch.load(io.BytesIO(members[WEIGHTS]), weights_only=True)
    del state[missing]
    weights = io.BytesIO()
    torch.save(state, weights)
    name = missing.removeprefix("bert_model.").replace(".", r"\.")
    refused(pack(tmp_path / "model.nemo", members | {WEIGHTS: weights.getvalue()}), tmp_path / "engine", name)


def reshaped(members: dict[str, bytes], name: str, shape: tuple[int, ...]) -> dict[str, bytes]:
    state = torch.load(io.BytesIO(members[WEIGHTS]), weights_only=True)
    weights = io.BytesIO()
    torch.save(state | {name: torch.zeros(shape)}, weights)
    return members | {WEIGHTS: weights.getvalue()}


@pytest.mark.parametrize(
    ("name", "shape", "match"),
    [
        ("slot_mlp.layer0.weight", (32, 64), "is 32 by 64, and 32 by 32 would fit: give heads of the same encoder"),
        ("slot_mlp.layer2.weight", (3, 31), "is 3 by 31, and 3 by 32 would fit"),
        ("intent_mlp.layer0.weight", (32,), "is 32, and 32 by 32 would fit"),
        ("intent_mlp.layer2.bias", (4,), "is 4, and 3 would fit"),
    ],
)
def test_heads_of_another_encoder_are_refused(members, name, shape, match, tmp_path):
    path = pack(tmp_path / "model.nemo", reshaped(members, f"classifier.{name}", shape))
    refused(path, tmp_path / "engine", rf"model\.nemo: classifier\.{name} {match}")


def test_a_member_that_is_no_text_is_named_as_in_the_archive(members, tmp_path):
    members["./0b_slot_labels.csv"] = "date\nStraße\nO\n".encode("latin-1")
    path = pack(tmp_path / "model.nemo", members)
    with pytest.raises(DataError, match=r"model\.nemo: 0b_slot_labels\.csv, line 2: not UTF-8"):
        make(path, tmp_path / "engine")


def test_a_member_too_long_for_a_text_is_not_read(members, tmp_path, monkeypatch):
    monkeypatch.setattr(nemo_archive, "_MAX_TEXT", 10)
    refused(
        pack(tmp_path / "model.nemo", members), tmp_path / "engine", r"model\.nemo: model_config\.yaml has more than"
    )


def test_aliases_that_stand_for_gigabytes_are_refused(members, tmp_path):
    levels = ["a0: &a0 [nemo, nemo]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    members[CONFIG] = "\n".join([*levels, "target: *a29"]).encode()
    refused(pack(tmp_path / "model.nemo", members), tmp_path / "engine", r"no plain YAML \(it has aliases\)")


class Runs:
    """A pickle that makes a folder when it is read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self):
        return __import__("os").mkdir, (self.folder,)


def test_a_pickle_that_would_run_code_is_not_run(members, tmp_path):
    weights = io.BytesIO()
    torch.save({"weight": Runs(str(tmp_path / "made"))}, weights)
    path = pack(tmp_path / "model.nemo", members | {WEIGHTS: weights.getvalue()})
    refused(path, tmp_path / "engine", "model_weights.ckpt holds more than tensors")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("missing", [CONFIG, WEIGHTS])
def test_an_archive_that_is_none_of_nemo_is_refused(members, missing, tmp_path):
    del members[missing]
    refused(pack(tmp_path / "model.nemo", members), tmp_path / "engine", f"has no {missing[2:]}")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_truncated_archive_is_refused(members, mode, share, tmp_path):
    path = pack(tmp_path / "model.nemo", members, mode)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(path, tmp_path / "engine", "truncated")


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "model.nemo").write_text("not found")
    refused(tmp_path / "model.nemo", tmp_path / "engine", "no tar archive")


@pytest.mark.parametrize("name", ["../climbed", "/tmp/climbed", "a/../../climbed", "..\\climbed"])
def test_members_that_climb_out_are_refused(members, name, tmp_path):
    path = pack(tmp_path / "model.nemo", members | {name: b"content"})
    refused(path, tmp_path / "engine", "lies outside of the archive")
    assert not list(tmp_path.rglob("*climbed"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(members, kind, tmp_path):
    path = pack(tmp_path / "model.nemo", members)
    with tarfile.open(path, "a") as file:
        member = tarfile.TarInfo("vocab.txt")
        member.type, member.linkname = kind, "/etc/passwd"
        file.addfile(member)
    refused(path, tmp_path / "engine", "a link or a device")


def test_absurd_sizes_are_refused_before_they_are_unpacked(members, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_BYTES", 100_000)
    path = pack(tmp_path / "model.nemo", members | {"bomb": bytes(200_000)}, "w:gz")
    assert path.stat().st_size < 200_000
    refused(path, tmp_path / "engine", "would unpack to more than")
