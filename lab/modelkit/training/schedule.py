"""How fast each weight learns, and when."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import nn

    from modelkit.networks import EncoderNetwork

_LAYER = re.compile(r"\.layer\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the loop trains, whatever it trains.

    Attributes:
        epochs: passes over the data; the last may be a part of one.
        learning_rate: highest rate of the encoder's last layer.
        head_learning_rate: highest rate of what is no encoder.
        layer_decay: each layer below the last learns this much slower (Howard and Ruder, 2018, "Universal Language
            Model Fine-tuning for Text Classification", section 3.2).
        warmup: share of the run in which the rate rises; then it falls to 0.
        weight_decay: of AdamW (Loshchilov and Hutter, 2019).
        average: decay of the running mean of the weights that is validated and kept (Polyak and Juditsky, 1992); 0
            takes the weights themselves.
        validations: an epoch.
        patience: so many validations in a row without a better score end the run.
        seed: of everything random.
    """

    epochs: float = 10
    learning_rate: float = 2e-4
    head_learning_rate: float = 1e-3
    layer_decay: float = 1.0
    warmup: float = 0.1
    weight_decay: float = 0.01
    average: float = 0.998
    validations: int = 1
    patience: int = 5
    seed: int = 7

    def for_batches(self, times: int) -> Schedule:
        """The same for batches so many times larger: rates grow by the root of that."""
        root = times**0.5
        return replace(self, learning_rate=self.learning_rate * root, head_learning_rate=self.head_learning_rate * root)

    def factor(self, progress: float) -> float:
        """Share of the highest rate at ``progress``, 0 to 1, through the run."""
        rising = progress / self.warmup if self.warmup else 1.0
        falling = (1 - progress) / (1 - self.warmup) if self.warmup < 1 else 1.0
        return max(0.0, min(rising, falling, 1.0))


def new_optimizer(network: EncoderNetwork, schedule: Schedule) -> torch.optim.AdamW:
    """Makes an optimizer of all weights that learn, each layer with a rate of its own.

    The word embeddings do not learn: their gradient is dense over the vocabulary, of which a batch touches little.
    """
    network.encoder.embeddings.word_embeddings.weight.requires_grad_(False)
    layers = network.encoder.config.num_hidden_layers
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            groups.setdefault(_peak(name, layers, schedule), []).append(parameter)
    return torch.optim.AdamW(
        [{"params": parameters, "lr": 0.0, "peak": peak} for peak, parameters in groups.items()],
        weight_decay=schedule.weight_decay,
        fused=True,
    )


def set_rates(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Gives every group its highest rate times ``factor``."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * factor


def _peak(name: str, layers: int, schedule: Schedule) -> float:
    if not name.startswith("encoder."):
        return schedule.head_learning_rate
    layer = _LAYER.search(name)
    depth = layers - 1 - int(layer[1]) if layer else layers
    return schedule.learning_rate * float(schedule.layer_decay**depth)
