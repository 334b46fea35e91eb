"""What training a punctuation engine does, all of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from modelkit.training.devices import CUDA_BATCHES
from modelkit.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class PunctuationRecipe:
    """Two runs of one recipe on one machine give the same weights.

    Attributes:
        schedule: of the loop.
        layers: of the base that are kept.
        pieces: of the base's vocabulary that are kept.
        batch_tokens: tokens of a batch, at most.
        questions: share of the questions that an epoch shows; all of them would outnumber other sentences.
        shortest: words of the shortest rows that text is cut into.
        longest: words of the longest ones.
        whole: share of the rows that end with a sentence; the others end anywhere, as windows of long texts do.
        validated: most held-out paragraphs that score the network in training; all score the engine.
    """

    schedule: Schedule = field(
        default_factory=lambda: Schedule(
            epochs=3, learning_rate=4e-4, warmup=0.05, average=0.99, validations=2, patience=6
        )
    )
    layers: int = 3
    pieces: int = 20_000
    batch_tokens: int = 768
    questions: float = 0.35
    shortest: int = 4
    longest: int = 80
    whole: float = 0.6
    validated: int = 150

    def on_gpu(self) -> PunctuationRecipe:
        """The same with larger batches."""
        schedule = self.schedule.for_batches(CUDA_BATCHES)
        return replace(self, schedule=schedule, batch_tokens=self.batch_tokens * CUDA_BATCHES)
