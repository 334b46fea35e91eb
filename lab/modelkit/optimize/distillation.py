"""Trains a network to say what its teacher says: for students, pruned networks and networks that round.

The loss is that of TinyBERT (Jiao et al., 2020): soft cross-entropy of the outputs, and the distance of hidden states.
No labels are needed, so that it is the same for both kinds of engines.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from modelkit.optimize.students import imitated_layers
from modelkit.optimize.teacher import at, run_watched

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from modelkit.networks import EncoderNetwork
    from modelkit.optimize.teacher import Lesson, Teacher

TEMPERATURE = 2.0
"""Softens both distributions, so that what comes second is learned too (Hinton et al., 2015)."""
HIDDEN_WEIGHT = 1.0
HELD_OUT = 0.03
"""Share of the batches on which a run is validated."""


class Distillation:
    """A :class:`modelkit.training.loop.Task`.

    Args:
        network: the student.
        teacher: its teacher.
        outputs: names of the outputs of both, and whether each has a value or vector a token.
    """

    def __init__(self, network: EncoderNetwork, teacher: Teacher, outputs: Mapping[str, bool]) -> None:
        self.network, self._teacher, self._outputs = network, teacher, outputs
        self._held_out = max(1, int(HELD_OUT * len(teacher)))

    def batches(self, epoch: int) -> Sequence[int]:
        """Gives the numbers of the teacher's batches, in an order of the epoch's own."""
        numbers = list(range(self._held_out, len(self._teacher)))
        random.Random(epoch).shuffle(numbers)
        return numbers

    def loss(self, batch: int) -> Tensor:
        """Computes the mean loss of a batch, a scalar."""
        lesson = self._teacher.lesson(batch)
        outputs, hidden = run_watched(self.network, lesson.inputs)
        imitated = imitated_layers(len(hidden), len(lesson.hidden))
        return self._output_loss(outputs, lesson) + HIDDEN_WEIGHT * hidden_loss(
            at(hidden, lesson.places), lesson.hidden[imitated]
        )

    def validate(self) -> dict[str, float]:
        """Scores the network on held-out batches: how near its outputs are to the teacher's, 0 being the same."""
        losses = []
        for number in range(self._held_out):
            lesson = self._teacher.lesson(number)
            losses.append(float(self._output_loss(self.network(*lesson.inputs), lesson)))
        return {"nearness": -sum(losses) / len(losses)}

    def _output_loss(self, outputs: tuple[Tensor, ...], lesson: Lesson) -> Tensor:
        pairs = zip(self._outputs.items(), outputs, strict=True)
        losses = [imitation_loss(o, lesson.logits[name], lesson.mask, per_token=t) for (name, t), o in pairs]
        return torch.stack(losses).mean()


def imitation_loss(student: Tensor, teacher: Tensor, mask: Tensor, *, per_token: bool) -> Tensor:
    """Kullback-Leibler divergence of softened distributions, the student's from the teacher's, by temperature squared.

    Args:
        student: logits ``[rows, classes]``, ``[rows, tokens, classes]``, or ``[rows, tokens]`` to choose a token.
        teacher: likewise.
        mask: ``[rows, tokens]``, false at padding, which counts for nothing and cannot be chosen.
        per_token: whether the second axis is that of tokens.
    """
    if per_token and student.dim() == 2:
        student, teacher = (logits.masked_fill(~mask, -1e4) for logits in (student, teacher))
    elif per_token:
        student, teacher = student[mask], teacher[mask]
    divergence = functional.kl_div(
        functional.log_softmax(student / TEMPERATURE, dim=-1),
        functional.log_softmax(teacher / TEMPERATURE, dim=-1),
        reduction="batchmean",
        log_target=True,
    )
    return divergence * TEMPERATURE**2


def hidden_loss(student: Tensor, teacher: Tensor) -> Tensor:
    """Mean squared distance of hidden states ``[layers, rows, watched, channels]``, against their mean square."""
    return functional.mse_loss(student, teacher) / teacher.square().mean()
