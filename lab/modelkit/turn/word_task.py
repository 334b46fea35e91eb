"""Trains the network for text: fresh beginnings of utterances in every epoch."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from engines.bert.session import group_rows
from modelkit.training.padding import pad
from modelkit.training.schedule import Schedule
from modelkit.turn.measures import auc
from modelkit.turn.texts import draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from torch import Tensor

    from engines.turn.words import WordTokenizer
    from modelkit.turn.texts import Example, Source
    from modelkit.turn.word_network import WholenessNetwork


@dataclass(frozen=True, slots=True)
class WordRecipe:
    """What training the network for text does, all of it.

    Attributes:
        schedule: of the loop.
        layers: of the base that are kept.
        pieces: of the base's vocabulary that are kept.
        batch_tokens: tokens of a batch, at most.
        smoothing: of the labels: many beginnings are whole utterances themselves.
        held_out: share of the utterances that validate.
    """

    schedule: Schedule = field(
        default_factory=lambda: Schedule(
            epochs=1.5, learning_rate=3e-4, warmup=0.05, average=0.99, validations=2, patience=6
        )
    )
    layers: int = 3
    pieces: int = 12_000
    batch_tokens: int = 640
    smoothing: float = 0.04
    held_out: float = 0.04


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded rows, int64: ids and mask ``[rows, tokens]``, and what is right, float32 ``[rows]``."""

    ids: torch.Tensor
    mask: torch.Tensor
    targets: torch.Tensor


class WordTask:
    """What the loop trains (:class:`modelkit.training.loop.Task`).

    Args:
        network: is trained.
        training: utterances to train on.
        held_out: utterances to validate with.
        tokenizer: makes its inputs.
        recipe: how it is trained.
    """

    def __init__(
        self,
        network: WholenessNetwork,
        training: Sequence[Source],
        held_out: Sequence[Source],
        tokenizer: WordTokenizer,
        recipe: WordRecipe,
    ) -> None:
        self.network = network
        self._training, self._tokenizer, self._recipe = training, tokenizer, recipe
        self._validation = _batches(draw(held_out, random.Random(1)), tokenizer, recipe.batch_tokens)

    def batches(self, epoch: int) -> list[Batch]:
        """Cuts all utterances anew."""
        rng = random.Random(self._recipe.schedule.seed * 1000 + epoch)
        batches = _batches(draw(self._training, rng), self._tokenizer, self._recipe.batch_tokens)
        rng.shuffle(batches)
        return batches

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy with smoothed labels."""
        smooth = self._recipe.smoothing
        targets = batch.targets * (1 - 2 * smooth) + smooth
        logits = self.network(batch.ids, batch.mask)[:, 0].float()
        return functional.binary_cross_entropy_with_logits(logits, targets)

    def validate(self) -> dict[str, float]:
        """Scores held-out utterances against their beginnings by the area under the ROC curve."""
        with torch.no_grad():
            logits = np.concatenate([self.network(b.ids, b.mask)[:, 0].numpy() for b in self._validation])
        truth = np.concatenate([batch.targets.numpy() for batch in self._validation]) > 0
        return {"auc": auc(logits[truth], logits[~truth])}


def _batches(examples: Sequence[Example], tokenizer: WordTokenizer, most: int) -> list[Batch]:
    rows = tokenizer.rows([example.words for example in examples])
    return [_batch(examples, rows, group) for group in group_rows([len(row) for row in rows], most)]


def _batch(examples: Sequence[Example], rows: Sequence[npt.NDArray[np.int64]], group: Sequence[int]) -> Batch:
    members = [rows[member] for member in group]
    targets = torch.tensor([float(examples[member].is_over) for member in group])
    return Batch(pad(members), pad([np.ones_like(row) for row in members]), targets)
