from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from engines.bert.intent_decoding import IntentLabels
from engines.bert.session import BertSession
from lab.tests.unit.modelkit.importing.checkpoints import (
    INTENTS,
    VOCABULARY,
    greatest_difference,
    network_in,
    padded_batch,
    save_tokenizer,
    served,
)
from modelkit.errors import CheckpointError
from modelkit.importing.checkpoint import read_checkpoint
from modelkit.importing.engine import write_engine
from modelkit.importing.onnx_file import OnnxOptions

if TYPE_CHECKING:
    from pathlib import Path

WIDTH = 6
QA_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
SLOTS = ("date", "place", "O")


class Exporter:
    """Writes small networks as other exporters would: a table of embeddings and one layer for each output."""

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.table = rng.normal(size=(len(VOCABULARY), WIDTH)).astype(np.float32)
        self.segments = rng.normal(size=(2, WIDTH)).astype(np.float32)
        self.heads = {name: rng.normal(size=(WIDTH, 3)).astype(np.float32) for name in ("intent", "slot")}
        self.heads["spans"] = rng.normal(size=(WIDTH, 2)).astype(np.float32)

    def hidden(self, batch) -> np.ndarray:
        return (self.table[batch["input_ids"]] + self.segments[batch["token_type_ids"]]) * batch["attention_mask"][
            ..., None
        ]

    def nodes(self, inputs) -> list[onnx.NodeProto]:
        ids, mask, segments = inputs
        return [
            helper.make_node("Gather", ["table", ids], ["words"]),
            helper.make_node("Gather", ["segments", segments], ["kinds"]),
            helper.make_node("Add", ["words", "kinds"], ["sum"]),
            helper.make_node("Cast", [mask], ["real"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["real", "last"], ["real_column"]),
            helper.make_node("Mul", ["sum", "real_column"], ["hidden"]),
        ]

    def write(self, path: Path, nodes, inputs, outputs, *, integers=TensorProto.INT64, shape=("n", "t")) -> Path:
        arrays = {"table": self.table, "segments": self.segments, "last": np.array([-1]), **self.heads}
        arrays |= {"first": np.array(0)}
        graph = helper.make_graph(
            [*self.nodes(inputs), *nodes],
            "network",
            [helper.make_tensor_value_info(name, integers, shape) for name in inputs],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in outputs.items()],
            [numpy_helper.from_array(array, name) for name, array in arrays.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, path)
        return path

    def spans(self, path: Path, inputs=QA_INPUTS, output="logits", width=2, **changes) -> Path:
        nodes = [helper.make_node("MatMul", ["hidden", "spans" if width == 2 else "slot"], [output])]
        return self.write(path, nodes, inputs, {output: ["n", "t", width]}, **changes)

    def understanding(self, path: Path, **changes) -> Path:
        nodes = [
            helper.make_node("Gather", ["hidden", "first"], ["first_token"], axis=1),
            helper.make_node("MatMul", ["first_token", "intent"], ["intent_logits"]),
            helper.make_node("MatMul", ["hidden", "slot"], ["slot_logits"]),
            helper.make_node("Identity", ["hidden"], ["hidden_states"]),
        ]
        outputs = {"hidden_states": ["n", "t", WIDTH], "intent_logits": ["n", 3], "slot_logits": ["n", "t", 3]}
        return self.write(path, nodes, QA_INPUTS, outputs, **changes)


@pytest.fixture
def exporter(tmp_path) -> Exporter:
    save_tokenizer("bert", tmp_path)
    (tmp_path / "intent_labels.csv").write_text("\n".join(INTENTS))
    (tmp_path / "slot_labels.csv").write_text("\n".join(SLOTS))
    return Exporter()


def make(path: Path, **options) -> Path:
    out = path.parent / "engine"
    scratch = path.parent / "scratch"
    scratch.mkdir()
    write_engine(read_checkpoint([path], scratch, OnnxOptions(**options)), out)
    return out


def refused(path: Path, match: str, **options) -> None:
    with pytest.raises(CheckpointError, match=match):
        make(path, **options)
    assert not (path.parent / "engine").exists()
    shutil.rmtree(path.parent / "scratch")


@pytest.mark.parametrize(
    ("inputs", "output", "options", "integers"),
    [
        (QA_INPUTS, "logits", {}, TensorProto.INT64),
        (("input_ids:0", "input_mask:0", "segment_ids:0"), "logits:0", {}, TensorProto.INT32),
        (
            ("tokens", "attention_mask", "kinds_of_tokens"),
            "both",
            {
                "inputs": {"input_ids": "tokens", "token_type_ids": "kinds_of_tokens"},
                "outputs": {"span_logits": "both"},
            },
            TensorProto.INT64,
        ),
    ],
)
def test_answers_have_the_logits_of_the_file(exporter, tmp_path, inputs, output, options, integers):
    path = exporter.spans(tmp_path / "qa.onnx", inputs, output, integers=integers)
    session = BertSession(network_in(make(path, **options), "qa"))
    batch = padded_batch(len(VOCABULARY), segments=True)
    expected = exporter.hidden(batch) @ exporter.heads["spans"]
    got = served(session, batch)
    for number, name in enumerate(("start_logits", "end_logits")):
        assert greatest_difference(got[name], expected[..., number], batch["attention_mask"]) <= 1e-4


def test_intents_and_slots_have_the_logits_of_the_file(exporter, tmp_path):
    engine = make(exporter.understanding(tmp_path / "nlu.onnx"))
    session = BertSession(network_in(engine, "intent_slot"))
    assert session.inputs == ("input_ids", "attention_mask")
    assert session.outputs == ("intent_logits", "tag_logits")
    batch = padded_batch(len(VOCABULARY), segments=False)
    hidden = exporter.hidden(batch | {"token_type_ids": np.zeros_like(batch["input_ids"])})
    got = served(session, batch)
    assert greatest_difference(got["intent_logits"], hidden[:, 0] @ exporter.heads["intent"]) <= 1e-4
    tags = got["tag_logits"][..., [2, 4, 0]]
    assert greatest_difference(tags, hidden @ exporter.heads["slot"], batch["attention_mask"]) <= 1e-4
    labels = IntentLabels.load(engine / "triton/intent_slot_decode/1/labels.json")
    assert (labels.intents, labels.slot_names) == (INTENTS, ("date", "place"))


def test_a_folder_with_one_network_and_its_weights_in_another_file(exporter, tmp_path):
    model = onnx.load(exporter.spans(tmp_path / "qa.onnx"))
    onnx.save(model, tmp_path / "qa.onnx", save_as_external_data=True, location="qa.data", size_threshold=0)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    card = write_engine(read_checkpoint([tmp_path], scratch), tmp_path / "engine")
    files = card["imported"]["files"]
    assert files.keys() == {"qa.onnx", "qa.data", "vocab.txt", "tokenizer_config.json"}
    assert files["qa.data"] == hashlib.sha256((tmp_path / "qa.data").read_bytes()).hexdigest()
    assert card["precision"] == "float32"
    (tmp_path / "qa.data").unlink()
    batch = padded_batch(len(VOCABULARY), segments=True)
    got = served(BertSession(network_in(tmp_path / "engine", "qa")), batch)
    expected = (exporter.hidden(batch) @ exporter.heads["spans"])[..., 0]
    assert greatest_difference(got["start_logits"], expected, batch["attention_mask"]) <= 1e-4


def test_labels_and_tokenizer_are_among_the_files_of_the_card(exporter, tmp_path):
    path = exporter.understanding(tmp_path / "nlu.onnx")
    (tmp_path / "elsewhere").mkdir()
    labels = (tmp_path / "slot_labels.csv").rename(tmp_path / "elsewhere" / "slots.txt")
    card = json.loads((make(path, slot_labels=labels) / "card.json").read_text())
    files = {"nlu.onnx", "vocab.txt", "tokenizer_config.json", "intent_labels.csv", "slots.txt"}
    assert card["imported"]["files"].keys() == files


def test_the_card_tells_the_precision_of_the_weights(exporter, tmp_path):
    path = exporter.spans(tmp_path / "qa.onnx")
    model = onnx.load(path)
    for number, weights in enumerate(model.graph.initializer):
        if len(weights.dims) == 2:
            values = numpy_helper.to_array(weights).astype(np.float16)
            cast = helper.make_node("Cast", [f"half_{number}"], [weights.name], to=TensorProto.FLOAT)
            weights.CopyFrom(numpy_helper.from_array(values, f"half_{number}"))
            model.graph.node.insert(0, cast)
    onnx.save(model, path)
    assert json.loads((make(path) / "card.json").read_text())["precision"] == "float16"


def test_weights_in_a_missing_file_are_refused(exporter, tmp_path):
    path = tmp_path / "qa.onnx"
    model = onnx.load(exporter.spans(path))
    onnx.save(model, path, save_as_external_data=True, location="qa.data", size_threshold=0)
    content = (tmp_path / "qa.data").read_bytes()
    (tmp_path / "qa.data").unlink()
    refused(path, "keeps weights in qa.data, which is missing")
    (tmp_path / "qa.data").write_bytes(content[:20])
    refused(path, "in other files are truncated|cannot be loaded")


@pytest.mark.parametrize("location", ["../qa.data", "/etc/passwd"])
def test_weights_outside_of_the_folder_are_refused(exporter, tmp_path, location):
    path = tmp_path / "qa.onnx"
    model = onnx.load(exporter.spans(path))
    onnx.save(model, path, save_as_external_data=True, location="qa.data", size_threshold=0)
    model = onnx.load(path, load_external_data=False)
    for initializer in model.graph.initializer:
        initializer.external_data[0].value = location
    path.write_bytes(model.SerializeToString())
    refused(path, "does not lie beside it")


def test_unknown_inputs_and_outputs_are_named(exporter, tmp_path):
    path = exporter.spans(tmp_path / "qa.onnx", ("input_ids", "attention_mask", "position_ids"))
    refused(path, "has the inputs input_ids, attention_mask, position_ids, but .* --input")
    path = exporter.spans(tmp_path / "qa.onnx", output="last_hidden_state")
    refused(path, "has the outputs last_hidden_state, but .* --output")
    refused(path, "has no output start, but last_hidden_state", outputs={"start_logits": "start"})


def test_fixed_shapes_are_refused(exporter, tmp_path):
    refused(exporter.spans(tmp_path / "qa.onnx", shape=(1, 384)), "has a fixed shape")


def test_a_classifier_is_not_taken_for_answers(exporter, tmp_path):
    refused(exporter.spans(tmp_path / "qa.onnx", width=3), "no start and end for each token")


def test_labels_must_be_there_and_fit(exporter, tmp_path):
    path = exporter.understanding(tmp_path / "nlu.onnx")
    (tmp_path / "slot_labels.csv").write_text("date\nO\n")
    refused(path, "slot labels: 2 labels for 3 outputs")
    (tmp_path / "slot_labels.csv").unlink()
    refused(path, "has no labels: put slot_labels.csv")


def test_a_vocabulary_of_another_network_is_refused(exporter, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*VOCABULARY, "more", "words"]))
    path = exporter.spans(tmp_path / "qa.onnx")
    refused(path, "does not fit|cannot read the vocabulary's last token")


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_truncated_file_is_refused(exporter, tmp_path, share):
    path = exporter.spans(tmp_path / "qa.onnx")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(path, "truncated or no ONNX file")


def test_the_command_reads_onnx_where_there_is_no_torch(exporter, tmp_path):
    path, out = exporter.spans(tmp_path / "qa.onnx"), tmp_path / "engine"
    program = "import sys; sys.modules['torch'] = None; from vivavoce.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "import", str(path), "--out", str(out), "--json"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    card = json.loads(result.stdout)
    assert card["engine"] == str(out)
    assert card["imported"]["format"] == "ONNX"
    assert network_in(out, "qa").exists()
