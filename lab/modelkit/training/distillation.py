"""Learns from engines that were trained before: their mean opinion is a softer and steadier target than one label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn


class Teachers:
    """Engines whose outputs are averaged ("Distilling the Knowledge in a Neural Network", Hinton et al., 2015).

    Args:
        networks: of one task and with the same labels; on the device of the student.
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        self._networks = [network.eval().requires_grad_(requires_grad=False) for network in networks]

    def __bool__(self) -> bool:
        return bool(self._networks)

    @torch.no_grad()
    def opinions(self, *inputs: Tensor, masks: Sequence[Tensor | None]) -> list[Tensor]:
        """Computes the mean probabilities of each of the networks' outputs, over its last axis.

        Args:
            inputs: of the networks.
            masks: for each output None, or what may not be chosen of its last axis, as true.
        """
        every = [network(*inputs) for network in self._networks]
        return [
            torch.stack([functional.softmax(_forbid(logits, mask).float(), dim=-1) for logits in outputs]).mean(0)
            for outputs, mask in zip(zip(*every, strict=True), masks, strict=True)
        ]


def soft_loss(logits: Tensor, opinion: Tensor) -> Tensor:
    """Cross-entropy against probabilities, ``[…, classes]`` both; one value for each of the leading axes."""
    return -(opinion * functional.log_softmax(logits.float(), dim=-1)).sum(-1)


def _forbid(logits: Tensor, mask: Tensor | None) -> Tensor:
    return logits if mask is None else logits.masked_fill(mask, -1e4)
