"""Networks that are pruned, shortened and made to round."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lab.tests.unit.modelkit.optimize.conftest import inputs
from modelkit.errors import EngineError
from modelkit.optimize import fake_quantization, sparsity
from modelkit.optimize.students import imitated_layers, keep_layers, keep_neurons, spread_layers


def test_of_inputs_that_have_nothing_to_do_with_each_other_the_greatest_weights_stay():
    weight = torch.tensor([[0.1, -3.0, 2.0, 0.5, 1.0, 1.1, -1.2, 0.0]])
    wanted = [[0.0, -3.0, 2.0, 0.0, 0.0, 1.1, -1.2, 0.0]]
    torch.testing.assert_close(sparsity.two_of_four(weight, torch.eye(8)), torch.tensor(wanted))


def test_a_small_weight_of_a_loud_input_stays():
    weight = torch.tensor([[0.1, 3.0, 2.0, 0.5]])
    made = sparsity.two_of_four(weight, torch.diag(torch.tensor([1e6, 1.0, 1.0, 1.0])))
    assert (made != 0).tolist() == [[True, True, False, False]]


def test_the_weights_that_stay_make_up_for_the_others():
    generator = torch.Generator().manual_seed(3)
    causes = torch.randn(500, 6, generator=generator)
    inputs = causes @ torch.randn(6, 16, generator=generator) + 0.1 * torch.randn(500, 16, generator=generator)
    weight = torch.randn(5, 16, generator=generator)
    made = sparsity.two_of_four(weight, inputs.T @ inputs / len(inputs))
    assert ((made.reshape(-1, 4) != 0).sum(dim=1) == 2).all()
    smallest = weight.abs().reshape(-1, 4).argsort(dim=1)[:, :2]
    plain = weight.reshape(-1, 4).scatter(1, smallest, 0.0).reshape(weight.shape)
    lost, lost_plain = ((inputs @ (other - weight).T).square().mean() for other in (made, plain))
    assert lost < 0.2 * lost_plain


def test_pruned_weights_stay_zero_while_others_learn(network):
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    sparsity.prune(network, lambda: network(*inputs()))
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    for _ in range(2):
        sum(output.square().mean() for output in network(*inputs())).backward()
        optimizer.step()
    sparsity.settle(network)
    after = network.state_dict()
    assert after.keys() == before.keys()
    for linear in sparsity.encoder_linears(network):
        assert ((linear.weight.reshape(-1, 4) != 0).sum(dim=1) == 2).all()
    name = "encoder.encoder.layer.0.output.dense.weight"
    kept = after[name] != 0
    assert (after[name][kept] != before[name][kept]).any()


@pytest.mark.parametrize("layers", [(1, 3, 5), (0, 2, 4)])
def test_a_student_is_the_layers_that_it_keeps(network, layers):
    student = keep_layers(network, layers)
    ids, mask, types = inputs()
    hidden = network.encoder.embeddings(input_ids=ids, token_type_ids=types)
    bias = (1 - mask[:, None, None, :]) * torch.finfo(torch.float32).min
    with torch.no_grad():
        for layer in layers:
            hidden = network.encoder.encoder.layer[layer](hidden, bias)
        start, end = network.span(hidden).unbind(-1)
        got_start, got_end = student(ids, mask, types)
    seen = mask.bool()
    torch.testing.assert_close(got_start[seen], start[seen], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(got_end[seen], end[seen], atol=1e-4, rtol=1e-4)
    assert len(network.encoder.encoder.layer) == network.encoder.config.num_hidden_layers == 6


def test_layers_that_are_not_there(network):
    with pytest.raises(EngineError, match="has 6 layers"):
        keep_layers(network, (1, 6))


@pytest.mark.parametrize(
    ("count", "depth", "expected"),
    [
        (3, 6, [0, 2, 4]),
        (4, 6, [0, 1, 2, 4]),
        (3, 4, [0, 1, 2]),
        (4, 5, [0, 1, 2, 3]),
        (3, 12, [0, 5, 10]),
        (4, 12, [0, 3, 6, 10]),
    ],
)
def test_the_layers_of_a_student_are_spread(count, depth, expected):
    assert spread_layers(count, depth) == expected


@pytest.mark.parametrize(
    ("student", "teacher", "expected"), [(3, 6, [1, 3, 5]), (6, 6, [0, 1, 2, 3, 4, 5]), (1, 6, [5]), (2, 12, [5, 11])]
)
def test_who_imitates_whom(student, teacher, expected):
    assert imitated_layers(student, teacher) == expected


def test_neurons_that_never_fire_go_first(network):
    silent = 40
    with torch.no_grad():
        for layer in network.encoder.encoder.layer:
            layer.output.dense.weight[:, silent:] = 0
    ids, mask, types = inputs()
    student = keep_neurons(network, silent, lambda seen: seen(ids, mask, types))
    assert student.encoder.config.intermediate_size == silent
    with torch.no_grad():
        for got, expected in zip(student(ids, mask, types), network(ids, mask, types), strict=True):
            torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def test_rounding_lets_gradients_through_inside_the_range_only():
    rounded = fake_quantization.RoundedInput()
    rounded(torch.tensor([-1.0, 1.0]))
    rounded.observing = False
    values = torch.tensor([0.123, 5.0], requires_grad=True)
    learned = rounded(values)
    learned.sum().backward()
    result, step = learned.detach(), 2 / 255
    assert float(result[0]) != pytest.approx(0.123, abs=1e-4)
    assert abs(float(result[0]) - 0.123) <= step / 2
    assert float(result[1]) == pytest.approx(1.0, abs=step)
    assert values.grad.tolist() == [1.0, 0.0]


def test_rounded_weights_have_eight_bits_and_a_gradient():
    weight = torch.randn(4, 256, requires_grad=True)
    rounded = fake_quantization.RoundedWeights()(weight)
    rounded.sum().backward()
    assert all(len(row.unique()) <= 255 for row in rounded)
    assert (rounded - weight).abs().max() <= weight.abs().max() / 64 / 2 + 1e-6
    assert weight.grad.eq(1).all()


def test_a_rounding_network_learns_and_becomes_plain_again(network):
    before = network.state_dict().keys()
    with torch.no_grad():
        exact = network(*inputs())[0]
    fake_quantization.prepare(network, lambda: network(*inputs()))
    rough = network(*inputs())[0]
    assert 0 < (rough - exact).abs().mean() < 0.2 * exact.abs().mean()
    rough.square().mean().backward()
    assert all(
        linear.parametrizations.weight.original.grad.abs().sum() > 0
        for linear in network.modules()
        if isinstance(linear, nn.Linear)
    )
    fake_quantization.settle(network)
    assert network.state_dict().keys() == before
    with torch.no_grad():
        torch.testing.assert_close(network(*inputs())[0], exact)
