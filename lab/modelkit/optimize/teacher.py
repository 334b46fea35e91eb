"""What the trained network says of the rows that students learn from: computed once, kept on disk."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.bert.session import MASK
from modelkit.networks import layer_output

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from torch import Tensor

    from engines.build.quantize import Feeds
    from modelkit.networks import EncoderNetwork

BATCH_TOKENS = 2048
_MIN_BATCHES = 8
WATCHED = 8
"""Tokens of every row whose hidden states are kept: all of them would take gigabytes."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A batch with the teacher's opinion of it.

    Attributes:
        inputs: of the network, ``[rows, tokens]`` int64 each, in its order.
        mask: ``[rows, tokens]``, true at tokens, false at padding.
        logits: the teacher's outputs, float32, by name.
        places: ``[rows, watched]``, the tokens whose hidden states follow.
        hidden: ``[layers, rows, watched, channels]`` float32, what each layer of the teacher returned there.
    """

    inputs: tuple[Tensor, ...]
    mask: Tensor
    logits: Mapping[str, Tensor]
    places: Tensor
    hidden: Tensor


class Teacher:
    """Teaches from a fixed list of batches.

    Args:
        network: the trained network, in evaluation mode.
        outputs: names of its outputs, in their order.
        rows: inputs of one row each.
        directory: keeps what was said.
    """

    def __init__(self, network: EncoderNetwork, outputs: Sequence[str], rows: Sequence[Feeds], directory: Path) -> None:
        self._network, self._outputs, self._directory = network, tuple(outputs), directory
        self._batches = group(rows)
        directory.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return len(self._batches)

    def lesson(self, number: int) -> Lesson:
        """Gives a batch with the teacher's opinion, which is computed at the first time."""
        feeds = {name: torch.from_numpy(values) for name, values in self._batches[number].items()}
        path = self._directory / f"{number:05d}.npz"
        if not path.exists():
            self._write(path, feeds)
        with np.load(path) as said:
            kept = {name: torch.from_numpy(said[name]) for name in said.files}
        return Lesson(
            tuple(feeds.values()),
            feeds[MASK].bool(),
            {name: kept[name].float() for name in self._outputs},
            kept["places"],
            kept["hidden"].float(),
        )

    @torch.inference_mode()
    def _write(self, path: Path, feeds: Mapping[str, Tensor]) -> None:
        outputs, hidden = run_watched(self._network, tuple(feeds.values()))
        generator = torch.Generator().manual_seed(int(path.stem))
        share = torch.rand((len(feeds[MASK]), WATCHED), generator=generator)
        places = (share * feeds[MASK].sum(dim=1, keepdim=True)).long()
        said = {name: logits.half().numpy() for name, logits in zip(self._outputs, outputs, strict=True)}
        sibling = path.with_suffix(".new")
        with sibling.open("wb") as file:
            np.savez(file, places=places.numpy(), hidden=at(hidden, places).half().numpy(), **said)
        sibling.replace(path)


def run_watched(network: EncoderNetwork, inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
    """Runs a network; returns its outputs, and what each layer returned, ``[layers, rows, tokens, channels]``."""
    seen: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(lambda _, __, output: seen.append(layer_output(output)))
        for layer in network.encoder.encoder.layer
    ]
    try:
        outputs = network(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return outputs, torch.stack(seen)


def at(hidden: Tensor, places: Tensor) -> Tensor:
    """Picks ``[layers, rows, watched, channels]`` of hidden states at the tokens ``places``."""
    index = places[None, :, :, None].expand(len(hidden), -1, -1, hidden.shape[-1])
    return hidden.gather(2, index)


def group(rows: Sequence[Feeds], seed: int = 7) -> list[dict[str, npt.NDArray[np.int64]]]:
    """Groups rows of like length into padded batches of about :data:`BATCH_TOKENS` tokens, in random order.

    Of few rows there are smaller batches, so that some can be held out.
    """
    rng = random.Random(seed)
    limit = min(BATCH_TOKENS, sum(row[MASK].shape[1] for row in rows) // _MIN_BATCHES)
    ordered = sorted(rows, key=lambda row: (row[MASK].shape[1] // 8, rng.random()))
    groups: list[list[Feeds]] = [[]]
    for row in ordered:
        if len(groups[-1]) * row[MASK].shape[1] >= limit:
            groups.append([])
        groups[-1].append(row)
    rng.shuffle(groups)
    return [_pad(members) for members in groups]


def _pad(rows: Sequence[Feeds]) -> dict[str, npt.NDArray[np.int64]]:
    width = max(row[MASK].shape[1] for row in rows)
    return {
        name: np.concatenate([np.pad(row[name], [(0, 0), (0, width - row[name].shape[1])]) for row in rows])
        for name in rows[0]
    }
