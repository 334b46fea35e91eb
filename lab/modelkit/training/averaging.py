"""Means of weights: of the steps of one run, which are steadier than any one step, and of several networks."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch

from modelkit.errors import TrainingError
from modelkit.training.checkpoint import load_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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


def load_mean(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Reads the weights of networks of one shape, and takes their mean.

    Args:
        paths: files that training wrote, one or more.

    Returns:
        The mean of each parameter, by name.

    Raises:
        TrainingError: a file is damaged, or the networks differ in shape.
    """
    first, *others = paths
    total: dict[str, Tensor] = load_tensors(first)
    shapes = {name: value.shape for name, value in total.items()}
    for path in others:
        state = load_tensors(path)
        if {name: value.shape for name, value in state.items()} != shapes:
            raise TrainingError(f"{path} and {first} hold networks of different shapes: name engines of one shape")
        for name, value in state.items():
            total[name] = total[name] + value
    return {name: value / len(paths) for name, value in total.items()} if others else total


@torch.no_grad()
def _copy(source: dict[str, Tensor], target: dict[str, Tensor] | dict[str, nn.Parameter]) -> None:
    for name, values in source.items():
        target[name].copy_(values)
