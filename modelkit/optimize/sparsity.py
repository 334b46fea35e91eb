"""2:4 structured sparsity: of four neighbouring weights along the input two are zero.

After Mishra et al., 2021, "Accelerating Sparse Deep Neural Networks": prune a trained network by magnitude, then train
it again with the zeros kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

if TYPE_CHECKING:
    from collections.abc import Iterator


class Masked(nn.Module):
    """Keeps weights zero where a mask is, whatever the optimizer does to them."""

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, weight: Tensor) -> Tensor:
        """Returns the weights with their zeros."""
        return weight * self.mask


def two_of_four(weight: Tensor) -> Tensor:
    """Marks the two weights of greatest magnitude of every four neighbours along the input.

    Args:
        weight: ``[outputs, inputs]``; the inputs are a multiple of four.

    Returns:
        Of the same shape and type: 1 to keep, 0 to drop.
    """
    groups = weight.detach().abs().reshape(len(weight), -1, 4)
    mask = torch.zeros_like(groups).scatter_(-1, groups.topk(2, dim=-1).indices, 1.0)
    return mask.reshape(weight.shape)


def encoder_linears(network: nn.Module) -> Iterator[nn.Linear]:
    """Yields the matrices of the encoder's layers, which hold almost all the arithmetic."""
    for module in network.encoder.encoder.modules():  # type: ignore[union-attr]
        if isinstance(module, nn.Linear):
            yield module


def prune(network: nn.Module) -> None:
    """Prunes the encoder's matrices 2:4, in place, and keeps them so in training."""
    for linear in encoder_linears(network):
        parametrize.register_parametrization(linear, "weight", Masked(two_of_four(linear.weight)))


def settle(network: nn.Module) -> None:
    """Ends what :func:`prune` began: plain weights remain, with their zeros."""
    for linear in encoder_linears(network):
        parametrize.remove_parametrizations(linear, "weight", leave_parametrized=True)
