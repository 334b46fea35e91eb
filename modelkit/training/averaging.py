"""A running mean of a network's weights, which is steadier than the weights of any one step."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn


class Average:
    """The exponential mean of the weights that learn (Polyak and Juditsky, 1992).

    Args:
        network: whose weights are followed.
        decay: share of the mean that stays at every step; early steps, where there is little to average, keep less. 0
            follows the weights themselves.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._network, self._decay, self._steps = network, decay, 0
        self._mean = {name: p.detach().clone() for name, p in network.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def update(self) -> None:
        """Takes in the weights after a step."""
        self._steps += 1
        kept = min(self._decay, self._steps / (self._steps + 10))
        means = list(self._mean.values())
        parameters = dict(self._network.named_parameters())
        torch._foreach_lerp_(means, [parameters[name] for name in self._mean], 1 - kept)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Gives the network the mean weights while the body runs."""
        learning = {name: p for name, p in self._network.named_parameters() if p.requires_grad}
        own = {name: p.detach().clone() for name, p in learning.items()}
        _copy(self._mean, learning)
        try:
            yield
        finally:
            _copy(own, learning)

    def state(self) -> dict[str, Any]:
        """Gives what :meth:`restore` needs."""
        return {"mean": self._mean, "steps": self._steps}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from :meth:`state`."""
        _copy(state["mean"], self._mean)
        self._steps = int(state["steps"])


@torch.no_grad()
def _copy(source: dict[str, Tensor], target: dict[str, Tensor] | dict[str, nn.Parameter]) -> None:
    for name, values in source.items():
        target[name].copy_(values)
