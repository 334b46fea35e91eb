from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, save

from engines.bert.session import BertSession, group_rows
from engines.bert.tokenizing import UtteranceTokenizer

REPOSITORY = Path(__file__).parents[3] / "model_repository"
TEXTS = ("stop", "Turn on the lights in the kitchen.", "what is the weather like in Paris this weekend?", "")


@pytest.fixture(scope="module")
def session() -> BertSession:
    return BertSession(REPOSITORY / "intent_slot_bert" / "1" / "model.int8.onnx")


@pytest.fixture(scope="module")
def inputs() -> list[dict[str, np.ndarray]]:
    tokenizer = UtteranceTokenizer(REPOSITORY / "intent_slot_tokenize" / "1" / "tokenizer.json")
    batches = [tokenizer.encode([text]) for text in TEXTS]
    return [{"input_ids": batch.input_ids, "attention_mask": batch.attention_mask} for batch in batches]


@given(st.lists(st.integers(2, 256), max_size=80))
def test_every_row_is_in_one_group_and_little_is_padded(lengths):
    groups = group_rows(lengths)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        padded = len(group) * max(lengths[index] for index in group)
        assert padded <= 2048
        assert padded - sum(lengths[index] for index in group) <= 0.25 * padded


def test_a_row_gets_the_same_result_in_any_batch(session, inputs):
    together = session.run(inputs * 3)
    for number, alone in enumerate(inputs):
        (expected,) = session.run([alone])
        for copy in range(3):
            got = together[number + copy * len(inputs)]
            for name, values in expected.items():
                np.testing.assert_allclose(got[name], values, atol=1e-4)


def test_rows_of_one_request_may_differ_in_length(session, inputs):
    width = max(request["input_ids"].shape[1] for request in inputs)
    padded = {
        name: np.concatenate([np.pad(r[name], ((0, 0), (0, width - r[name].shape[1]))) for r in inputs])
        for name in session.inputs
    }
    (together,) = session.run([padded])
    assert together["tag_logits"].shape[:2] == (len(TEXTS), width)
    for row, alone in enumerate(inputs):
        (expected,) = session.run([alone])
        length = alone["input_ids"].shape[1]
        np.testing.assert_allclose(together["intent_logits"][row], expected["intent_logits"][0], atol=1e-4)
        np.testing.assert_allclose(together["tag_logits"][row, :length], expected["tag_logits"][0], atol=1e-4)
        assert not together["tag_logits"][row, length:].any()


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask", "position_ids")])
def test_a_network_with_other_inputs_is_refused(inputs, tmp_path):
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"]) for name in inputs]
    nodes = [helper.make_node("Sum", ["floats"], ["logits"]), helper.make_node("Cast", [inputs[0]], ["floats"], to=1)]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", "tokens"])
    model = helper.make_model(
        helper.make_graph(nodes[::-1], "other", values, [output]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    save(model, tmp_path / "other.onnx")
    with pytest.raises(ValueError, match="needs attention_mask, and may have of the others input_ids, token_type_ids"):
        BertSession(tmp_path / "other.onnx")


def test_nothing_asked_nothing_answered(session):
    assert session.run([]) == []
