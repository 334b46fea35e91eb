from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnx import save as save_onnx

from engines.bert.tag_paths import TagSteps, best_tags
from modelkit.errors import CheckpointError
from modelkit.importing.tag_graph import arrange_tags
from modelkit.importing.tags import plan_tags


def arranged(labels: list[str], logits: np.ndarray, tmp_path, scheme=None) -> tuple[tuple[str, ...], np.ndarray]:
    """Runs a network that gives its input back through the plan of its labels."""
    shape = ["rows", "tokens", len(labels)]
    value, result = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("x", "tag_logits"))
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["tag_logits"])], "tags", [value], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save_onnx(model, tmp_path / "tags.onnx")
    plan = plan_tags(labels, scheme)
    arrange_tags(tmp_path / "tags.onnx", plan)
    session = ort.InferenceSession(str(tmp_path / "tags.onnx"))
    return plan.tags, session.run(None, {"x": logits[np.newaxis].astype(np.float32)})[0][0]


def decoded(labels: list[str], words: list[str], tmp_path, scheme=None) -> list[str]:
    """Decodes words of which the network is sure; each is one of its labels."""
    tags, logits = arranged(labels, 6.0 * np.eye(len(labels))[[labels.index(word) for word in words]], tmp_path, scheme)
    return [tags[tag] for tag in best_tags(logits, TagSteps.legal(len(tags)))]


def test_bio_is_put_into_order_and_otherwise_left_alone(tmp_path):
    labels = ["I-x", "B-y", "O", "B-x", "I-y"]
    logits = np.random.default_rng(1).normal(size=(4, 5))
    tags, got = arranged(labels, logits, tmp_path)
    assert tags == ("O", "B-x", "I-x", "B-y", "I-y")
    np.testing.assert_array_equal(got, logits.astype(np.float32)[:, [labels.index(tag) for tag in tags]])


@pytest.mark.parametrize(
    ("labels", "scheme", "words", "expected"),
    [
        (["x", "y", "O"], None, ["O", "x", "x", "y", "O", "y"], ["O", "B-x", "I-x", "B-y", "O", "B-y"]),
        (["O", "I-x", "I-y"], None, ["I-x", "I-x", "I-y"], ["B-x", "I-x", "B-y"]),
        (["O", "B-x", "B-y"], None, ["B-x", "B-x", "B-y"], ["B-x", "B-x", "B-y"]),
        (["O", "B-x", "I-x"], None, ["B-x", "I-x", "B-x"], ["B-x", "I-x", "B-x"]),
        (["O", "B-x", "I-x"], "iob1", ["I-x", "I-x", "B-x", "I-x"], ["B-x", "I-x", "B-x", "I-x"]),
        (["O", "B-x", "I-x"], "plain", ["I-x", "B-x", "O"], ["B-x", "I-x", "O"]),
        (["O", "S-x", "B-x", "I-x", "E-x"], None, ["S-x", "B-x", "I-x", "E-x"], ["B-x", "B-x", "I-x", "I-x"]),
        (["O", "U-x", "B-x", "L-x"], None, ["U-x", "O", "B-x", "L-x"], ["B-x", "O", "B-x", "I-x"]),
        (["PAD", "UNK", "O", "B-x"], None, ["O", "B-x"], ["O", "B-x"]),
        (["o", "B-x"], None, ["o", "B-x"], ["O", "B-x"]),
        (["O", "to-city", "from-city"], None, ["to-city", "from-city"], ["B-to-city", "B-from-city"]),
    ],
)
def test_every_scheme_decodes_to_the_same_slots(tmp_path, labels, scheme, words, expected):
    assert decoded(labels, words, tmp_path, scheme) == expected


@pytest.mark.parametrize(
    ("labels", "match"),
    [(["B-x", "I-x"], "need O"), (["O"], "and a slot"), (["O", "x", "x"], "x more than once"), ([], "need O")],
)
def test_labels_that_name_no_slots_are_refused(labels, match):
    with pytest.raises(CheckpointError, match=match):
        plan_tags(labels)
