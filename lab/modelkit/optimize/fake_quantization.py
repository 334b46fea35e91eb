"""Quantization-aware training: a network that rounds in its forward pass as INT8 will, and learns to bear it.

After Jacob et al., 2018, "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference". Rounding has the gradient of the identity inside the range, and none outside (the straight-through
estimator; Bengio et al., 2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from engines.build.signed_weights import LARGEST, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.utils.hooks import RemovableHandle

_ACTIVATION_STEPS = 255
_PERCENTILE = 0.9999
_MAX_VALUES = 100_000
"""Of one activation that are looked at: enough for its percentiles, which need sorting."""


class RoundedWeights(nn.Module):
    """Rounds weights ``[outputs, inputs]`` to signed 8 bits with the steps of :mod:`engines.build.signed_weights`."""

    def forward(self, weight: Tensor) -> Tensor:
        """Returns the rounded weights."""
        scale = torch.from_numpy(steps(weight.detach().T.cpu().numpy())).to(weight.device)
        zeros = torch.zeros_like(scale, dtype=torch.int32)
        return torch.fake_quantize_per_channel_affine(weight, scale, zeros, 0, -LARGEST, LARGEST)


class RoundedInput(nn.Module):
    """Rounds what goes into a matrix to 8 bits over a fixed range; while ``observing`` it widens the range instead.

    Attributes:
        hook: puts it before its matrix.
    """

    low: Tensor
    high: Tensor
    hook: RemovableHandle

    def __init__(self) -> None:
        super().__init__()
        self.observing = True
        self.register_buffer("low", torch.tensor(0.0))
        self.register_buffer("high", torch.tensor(0.0))

    def forward(self, values: Tensor) -> Tensor:
        """Returns the rounded values, or while observing the values as they are."""
        if self.observing:
            self._observe(values.detach().flatten())
            return values
        scale = ((self.high - self.low) / _ACTIVATION_STEPS).clamp_min(1e-8)
        zero = (-self.low / scale).round().to(torch.int32)
        return torch.fake_quantize_per_tensor_affine(values, scale, zero, 0, _ACTIVATION_STEPS)

    def _observe(self, values: Tensor) -> None:
        values = values[:: len(values) // _MAX_VALUES + 1]
        bounds = torch.quantile(values, torch.tensor([1 - _PERCENTILE, _PERCENTILE]))
        self.low.copy_(torch.minimum(self.low, bounds[0]))
        self.high.copy_(torch.maximum(self.high, bounds[1]))


def prepare(network: nn.Module, observe: Callable[[], object]) -> None:
    """Makes a network round, in place.

    Args:
        network: whose matrices are rounded, with what goes into them.
        observe: runs the network over a few inputs, on which the ranges of activations are measured.
    """
    for linear in _linears(network):
        rounded = RoundedInput()
        rounded.hook = linear.register_forward_pre_hook(_round_input)
        linear.rounded_input = rounded
    with torch.no_grad():
        observe()
    for linear in _linears(network):
        _rounded_input(linear).observing = False
        parametrize.register_parametrization(linear, "weight", RoundedWeights())


def settle(network: nn.Module) -> None:
    """Ends what :func:`prepare` began: the trained float32 weights remain, ready to be rounded once and for all."""
    for linear in _linears(network):
        parametrize.remove_parametrizations(linear, "weight", leave_parametrized=False)
        _rounded_input(linear).hook.remove()
        del linear.rounded_input


def _round_input(linear: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (_rounded_input(linear)(inputs[0]),)


def _rounded_input(linear: nn.Module) -> RoundedInput:
    found = linear.rounded_input
    assert isinstance(found, RoundedInput)
    return found


def _linears(network: nn.Module) -> Iterator[nn.Linear]:
    for module in list(network.modules()):
        if isinstance(module, nn.Linear):
            yield module
