"""2:4 structured sparsity: of four neighbouring weights along the input two are zero.

After Mishra et al., 2021, "Accelerating Sparse Deep Neural Networks": prune a trained network, then train it again with
the zeros kept. What is pruned is not what is smallest, but what the layer's outputs miss least once the other weights
have made up for it (Frantar and Alistarh, 2023, "SparseGPT: Massive Language Models Can Be Accurately Pruned in
One-Shot", section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from modelkit.optimize.watching import sum_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from modelkit.networks import EncoderNetwork

_DAMPING = 0.01
"""Share of their mean that is added to the squares of the inputs: some inputs never change."""


class Masked(nn.Module):
    """Keeps weights zero where a mask is, whatever the optimizer does to them."""

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, weight: Tensor) -> Tensor:
        """Returns the weights with their zeros."""
        return weight * self.mask


@torch.no_grad()
def two_of_four(weight: Tensor, moments: Tensor) -> Tensor:
    """Drops two of every four neighbouring weights along the input, and has those that follow make up for them.

    Args:
        weight: ``[outputs, inputs]``; the inputs are a multiple of four.
        moments: ``[inputs, inputs]``, the products of every two inputs, summed over a number of rows.

    Returns:
        Weights of the same shape and type, zero where they were dropped.
    """
    squares = moments.double()
    squares = squares + _DAMPING * squares.diagonal().mean() * torch.eye(len(squares), dtype=squares.dtype)
    # Row i tells how the weights behind i have to move to make up for a change of weight i.
    influence = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(squares)), upper=True)
    made = weight.double().clone()
    for first in range(0, made.shape[1], 4):
        group = slice(first, first + 4)
        loss = (made[:, group] / influence.diagonal()[group]).square()
        dropped = torch.zeros_like(loss).scatter_(1, loss.topk(2, largest=False).indices, 1.0)
        for place in range(first, first + 4):
            change = dropped[:, place - first] * made[:, place] / influence[place, place]
            made[:, place:] -= change[:, None] * influence[place, place:]
        made[:, group] *= 1 - dropped
    return made.to(weight.dtype)


def encoder_linears(network: EncoderNetwork) -> Iterator[nn.Linear]:
    """Yields the matrices of the encoder's layers, which hold almost all the arithmetic."""
    for module in network.encoder.encoder.modules():
        if isinstance(module, nn.Linear):
            yield module


def prune(network: EncoderNetwork, run: Callable[[], object]) -> None:
    """Prunes the encoder's matrices 2:4, in place, and keeps them so in training.

    Args:
        network: is pruned.
        run: runs the network over a few inputs without padding. It is called once a layer, so that each is fitted to
            what the pruned ones before it give.
    """
    for layer in network.encoder.encoder.layer:
        linears = [module for module in layer.modules() if isinstance(module, nn.Linear)]
        for linear, moments in zip(linears, sum_inputs(linears, lambda rows: rows.T @ rows, run), strict=True):
            weight = two_of_four(linear.weight, moments)
            linear.weight.data.copy_(weight)
            parametrize.register_parametrization(linear, "weight", Masked((weight != 0).to(weight.dtype)))


def settle(network: EncoderNetwork) -> None:
    """Ends what :func:`prune` began: plain weights remain, with their zeros."""
    for linear in encoder_linears(network):
        parametrize.remove_parametrizations(linear, "weight", leave_parametrized=True)
