"""What training a question answering engine does, all of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import takewhile

from modelkit.training.devices import CUDA_BATCHES
from modelkit.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Pruning:
    """How a network drops tokens (:mod:`modelkit.token_pruning`).

    Attributes:
        kept_first: tokens that go on after the attention of the first layer.
        kept_second: of the second, likewise; 0 drops no more.
        kept_third: of the third, likewise.
        kept_fourth: of the fourth, likewise.
        kept_fifth: of the fifth, likewise.
        kept_sixth: of the sixth, likewise; its tokens go nowhere but through its feed-forward network.
        guess_weight: of the loss of the guesses by which tokens are dropped.
    """

    kept_first: int = 224
    kept_second: int = 184
    kept_third: int = 136
    kept_fourth: int = 72
    kept_fifth: int = 0
    kept_sixth: int = 0
    guess_weight: float = 0.5

    @property
    def kept(self) -> tuple[int, ...]:
        """How many tokens go on after the attention of the first layers."""
        first = (self.kept_first, self.kept_second, self.kept_third)
        return tuple(takewhile(bool, (*first, self.kept_fourth, self.kept_fifth, self.kept_sixth)))


@dataclass(frozen=True, slots=True)
class QaRecipe:
    """Two runs of one recipe on one machine give the same weights.

    Attributes:
        schedule: of the loop.
        batch_tokens: tokens of a batch, about.
        wrong_paragraph: share of the questions that are also put to a wrong paragraph.
        window: tokens of a window; shorter than in service, where no gradient takes memory.
        overlap: document tokens that two neighbouring windows share.
        validated: most held-out questions that score the network in training; all calibrate it.
        teacher_weight: share of the loss against the teachers' opinion, where there are teachers.
        pruning: of a network that drops tokens.
        cut: share of the layers' arithmetic that goes with heads and neurons, before training
            (:mod:`modelkit.unit_pruning`).
    """

    schedule: Schedule = field(
        default_factory=lambda: Schedule(
            epochs=2, learning_rate=1e-4, head_learning_rate=1e-4, warmup=0.05, validations=4, patience=4
        )
    )
    batch_tokens: int = 2048
    wrong_paragraph: float = 0.25
    window: int = 192
    overlap: int = 48
    validated: int = 300
    teacher_weight: float = 0.7
    pruning: Pruning = field(default_factory=Pruning)
    cut: float = 0.0

    def on_gpu(self) -> QaRecipe:
        """The same with larger batches."""
        schedule = self.schedule.for_batches(CUDA_BATCHES)
        return replace(self, schedule=schedule, batch_tokens=self.batch_tokens * CUDA_BATCHES)
