"""Networks of which heads and neurons are cut, in PyTorch and in the graphs that are served."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

from engines.bert.session import BertSession
from lab.tests.tiny_bert import shake
from modelkit.errors import TrainingError
from modelkit.export import QA_INPUTS, QA_OUTPUTS, example, export
from modelkit.networks import SpanNetwork
from modelkit.unit_pruning import GROUP, cut_units, hold_cut_units, measure_importance

LAYERS, HEADS, NEURONS = 2, 4, 4 * GROUP
SIZES: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": NEURONS,
}


@pytest.fixture
def network() -> SpanNetwork:
    torch.manual_seed(2)
    config = BertConfig(**SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager")
    made = SpanNetwork(BertModel(config, add_pooling_layer=False)).eval()
    shake(made, 0.1)
    return made


def losses(network, rows: int = 6):
    for seed in range(rows):
        torch.manual_seed(seed)
        start, end = network(*example(QA_INPUTS, 100))
        yield -(start.log_softmax(-1)[:, 1] + end.log_softmax(-1)[:, 4]).sum()


def read(network) -> list[torch.Tensor]:
    """Which units are read, for the heads of the first layer, its neurons, the heads of the second, …"""
    found = []
    for layer in network.encoder.encoder.layer:
        found.append(layer.attention.output.dense.weight.unflatten(1, (HEADS, -1)).ne(0).any(-1).any(0))
        found.append(layer.output.dense.weight.ne(0).any(0))
    return found


def test_importance_is_the_squared_slope_along_a_factor_of_the_unit(network):
    importance = measure_importance(network, losses(network, 1))
    assert [len(each) for each in importance] == [HEADS, NEURONS] * LAYERS
    step = 1e-2
    for place, unit in ((0, 1), (1, 7), (2, 3), (3, 90)):
        layer = network.encoder.encoder.layer[place // 2]
        reader = layer.output.dense if place % 2 else layer.attention.output.dense
        around = []
        for factor in (1 + step, 1 - step):
            changed = reader.weight.detach().unflatten(1, (NEURONS if place % 2 else HEADS, -1)).clone()
            changed[:, unit] *= factor
            with torch.no_grad():
                before = reader.weight.clone()
                reader.weight.copy_(changed.flatten(1))
                around.append(next(losses(network, 1)))
                reader.weight.copy_(before)
        slope = (around[0] - around[1]) / (2 * step)
        torch.testing.assert_close(importance[place][unit], slope.square(), rtol=0.02, atol=1e-5)


def test_what_is_missed_least_goes(network):
    importance = [torch.arange(1.0, len(each) + 1) for each in read(network)]
    importance[0] += 1e9  # The heads of the first layer are missed most of all.
    cut_units(network, importance, 0.4)
    first_heads, first_neurons, heads, neurons = read(network)
    assert first_heads.all()
    for found in (first_neurons, heads, neurons):
        assert not found.all()
        assert found.tolist() == sorted(found.tolist())  # The first ones are missed least.


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_so_much_arithmetic_goes_and_something_is_left_of_every_kind(network, share):
    cut_units(network, measure_importance(network, losses(network)), share)
    left = [int(found.sum()) for found in read(network)]
    if share == 1.0:
        assert left == [1, GROUP] * LAYERS
    # Multiplications of a row of 256 tokens, those between tokens five times.
    head, neuron = 256 * 8 * (4 * 32 + 2 * 256 * 5), 256 * 2 * 32
    costs = [head, neuron] * LAYERS
    total = sum(cost * count for cost, count in zip(costs, [HEADS, NEURONS] * LAYERS, strict=True))
    remaining = sum(cost * count for cost, count in zip(costs, left, strict=True))
    if share < 1.0:
        assert (1 - share) * total - head <= remaining <= (1 - share) * total


def test_tokens_that_are_dropped_make_what_comes_behind_them_cheaper_and_so_kept(network):
    # A head of the second layer is missed half as much as one of the first.
    importance = [torch.full((HEADS,), 2.0), torch.ones(NEURONS), torch.ones(HEADS), torch.ones(NEURONS)]
    few = copy.deepcopy(network)
    cut_units(network, importance, 0.2)
    cut_units(few, importance, 0.2, (48,))
    assert [int(read(network)[place].sum()) for place in (0, 2)] == [HEADS, HEADS - 2]
    assert [int(read(few)[place].sum()) for place in (0, 2)] == [HEADS - 1, HEADS]


def test_what_is_cut_stays_cut_in_training_and_all_else_is_trained(network):
    cut_units(network, measure_importance(network, losses(network)), 0.5)
    before = read(network)
    weights = copy.deepcopy(network.state_dict())
    hold_cut_units(network)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-2, weight_decay=0.1)
    for loss in losses(network):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for found, held in zip(read(network), before, strict=True):
        assert torch.equal(found, held)
    reader = "encoder.encoder.layer.0.output.dense.weight"
    assert network.state_dict()[reader][:, before[1]].ne(weights[reader][:, before[1]]).all()


def test_what_was_cut_before_counts(network):
    cut_units(network, measure_importance(network, losses(network)), 0.5)
    before = read(network)
    cut_units(network, measure_importance(network, losses(network)), 0.4)
    for found, held in zip(read(network), before, strict=True):
        assert torch.equal(found, held)


def test_a_graph_without_idle_units_says_the_same_with_fewer_weights(network, tmp_path):
    cut_units(network, measure_importance(network, losses(network)), 0.6)
    export(network, tmp_path / "cut.onnx", QA_INPUTS, QA_OUTPUTS)
    sizes = {value.name: list(value.dims) for value in onnx.load(tmp_path / "cut.onnx").graph.initializer}
    for number in range(LAYERS):
        heads, neurons = read(network)[2 * number : 2 * number + 2]
        assert sizes[f"Attention_{number}_qkv_bias"] == [3 * 8 * int(heads.sum())]
        assert sizes[f"encoder.encoder.layer.{number}.intermediate.dense.bias"] == [int(neurons.sum())]
    ids, mask, types = example(QA_INPUTS, 100)
    mask[1, 6:] = 0
    (served,) = BertSession(tmp_path / "cut.onnx").run(
        [dict(zip(QA_INPUTS, (ids.numpy(), mask.numpy(), types.numpy()), strict=True))]
    )
    with torch.no_grad():
        plain = network(ids, mask, types)
    for name, logits in zip(QA_OUTPUTS, plain, strict=True):
        np.testing.assert_allclose(served[name][mask == 1], logits[mask == 1].numpy(), atol=1e-4)


def test_a_layer_whose_units_are_all_idle_keeps_one_of_a_kind(network, tmp_path):
    with torch.no_grad():
        network.encoder.encoder.layer[1].attention.output.dense.weight.zero_()
        network.encoder.encoder.layer[1].output.dense.weight.zero_()
    export(network, tmp_path / "cut.onnx", QA_INPUTS, QA_OUTPUTS)
    inputs = example(QA_INPUTS, 100)
    (served,) = BertSession(tmp_path / "cut.onnx").run(
        [{name: tensor.numpy() for name, tensor in zip(QA_INPUTS, inputs, strict=True)}]
    )
    with torch.no_grad():
        start, _ = network(*inputs)
    np.testing.assert_allclose(served["start_logits"], start.numpy(), atol=1e-4)


def test_another_architecture_is_refused_and_trained_as_it_is():
    network = SpanNetwork(MPNetModel(MPNetConfig(**SIZES), add_pooling_layer=False))
    with pytest.raises(TrainingError, match="of a mpnet no heads and neurons can be cut: take a BERT"):
        cut_units(network, [], 0.2)
    with pytest.raises(TrainingError, match="take a BERT"):
        measure_importance(network, [])
    hold_cut_units(network)
