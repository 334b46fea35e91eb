"""What training an intent and slot engine does, all of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from modelkit.training.devices import CUDA_BATCHES
from modelkit.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class NluRecipe:
    """Two runs of one recipe on one machine give the same weights.

    Attributes:
        schedule: of the loop.
        rows: utterances of a batch.
        dropout: in the encoder.
        label_smoothing: of the intents (Szegedy et al., 2016).
        outliers_per_epoch: most outliers that an epoch shows.
        outlier_weight: of their loss, where ``none`` is no intent of its own.
        substitution: probability that a slot gets another of its values.
        mishearing: probability that a word is taken for one that sounds alike.
        copies: times that an epoch shows each utterance.
        teacher_weight: share of the loss against the teachers' opinion, where there are teachers.
        unlabelled_per_epoch: texts without labels that an epoch shows, where there are teachers.
        perturbation: probability that a word of an utterance among them is replaced by a neighbour.
    """

    schedule: Schedule = field(default_factory=Schedule)
    rows: int = 32
    dropout: float = 0.1
    label_smoothing: float = 0.05
    outliers_per_epoch: int = 2400
    outlier_weight: float = 2.0
    substitution: float = 0.15
    mishearing: float = 0.01
    copies: int = 1
    teacher_weight: float = 0.7
    unlabelled_per_epoch: int = 10_000
    perturbation: float = 0.2

    @classmethod
    def for_sentences(cls, sentences: int) -> NluRecipe:
        """The recipe for a domain's sentences: few, so that much is made of each."""
        copies = max(1, min(8, round(2500 / max(1, sentences))))
        return cls(
            schedule=Schedule(epochs=4, learning_rate=3e-4, average=0.99, patience=3),
            outliers_per_epoch=1200,
            substitution=0.6,
            mishearing=0.06,
            copies=copies,
            unlabelled_per_epoch=1200,
        )

    def on_gpu(self) -> NluRecipe:
        """The same with larger batches."""
        schedule = self.schedule.for_batches(CUDA_BATCHES)
        return replace(self, schedule=schedule, rows=self.rows * CUDA_BATCHES)
