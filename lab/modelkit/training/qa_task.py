"""Trains answers: spans in windows of documents, and ``[CLS]`` where there is none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch

from modelkit.calibrate_qa import judge, pair_wrongly, run
from modelkit.eager import EagerSession
from modelkit.errors import TrainingError
from modelkit.export import QA_INPUTS, QA_OUTPUTS
from modelkit.token_pruning import PrunedSpanNetwork, draw_kept, read_all
from modelkit.training.distillation import Teachers, soft_loss
from modelkit.training.qa_windows import make_batches, make_windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt
    from torch import Tensor

    from engines.bert.tokenizing import DocumentTokenizer
    from modelkit.networks import SpanNetwork
    from modelkit.squad import Question
    from modelkit.token_pruning import Reading
    from modelkit.training.qa_data import QaData
    from modelkit.training.qa_recipe import QaRecipe
    from modelkit.training.qa_windows import Batch, Window

_IMPOSSIBLE = -1e4


class QaTask:
    """What the loop trains (:class:`modelkit.training.loop.Task`).

    Args:
        network: is trained.
        data: what it is trained on.
        tokenizer: cuts windows as the recipe says.
        recipe: how it is trained.
        teachers: earlier networks.

    Raises:
        TrainingError: the questions to validate on are about one paragraph, or none has an answer.
    """

    def __init__(
        self, network: SpanNetwork, data: QaData, tokenizer: DocumentTokenizer, recipe: QaRecipe, teachers: Teachers
    ) -> None:
        self.network = network
        self._data, self._tokenizer, self._recipe, self._teachers = data, tokenizer, recipe, teachers
        asked = data.validation[: recipe.validated]
        if len({question.context for question in asked}) < 2 or not any(question.answers for question in asked):
            raise TrainingError(
                f"validated={recipe.validated} takes too few of the {len(data.validation)} questions that are held "
                "out: set more"
            )
        self._validation = (*asked, *pair_wrongly(asked, recipe.schedule.seed))

    def batches(self, epoch: int) -> list[Batch]:
        """Cuts all questions, with other wrong paragraphs in every epoch."""
        rng = random.Random(self._recipe.schedule.seed * 1000 + epoch)
        return make_batches(self._windows(self._data.training, rng), self._recipe.batch_tokens, rng)

    def row_losses(self, count: int) -> Iterator[Tensor]:
        """Computes the losses of ``count`` rows at most, as of batches of one, each when it is asked for."""
        rng = random.Random(self._recipe.schedule.seed)
        questions = rng.sample(self._data.training, min(count, len(self._data.training)))
        yield from map(self.loss, make_batches(self._windows(questions, rng)[:count], 1, rng))

    def _windows(self, questions: Sequence[Question], rng: random.Random) -> list[Window]:
        return make_windows(questions, self._tokenizer, self._recipe.wrong_paragraph, rng)

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy of start and end, and of the guesses of a network that drops tokens."""
        device = next(self.network.parameters()).device
        ids, mask, types = (t.to(device) for t in (batch.ids, batch.mask, batch.types))
        labels = [_one_hot(place.to(device), ids) for place in (batch.start, batch.end)]
        padding = mask == 0
        opinions = self._teachers.opinions(ids, mask, types, masks=(padding, padding)) if self._teachers else None
        reading = self._read(ids, mask, types)
        pairs = [(_visible(part, reading.mask), reading.places) for part in reading.logits]
        spans = self._mean_loss(pairs, labels, opinions)
        if not reading.guesses:
            return spans
        # A guess is of beginnings and ends alike.
        guesses = [(_visible(guess.scores, guess.mask), guess.places) for guess in reading.guesses]
        to_guess = [torch.stack(labels).mean(0)] * len(guesses)
        thought = [torch.stack(opinions).mean(0)] * len(guesses) if opinions else None
        guessed = self._mean_loss(guesses, to_guess, thought)
        return spans + self._recipe.pruning.guess_weight * guessed

    def _read(self, ids: Tensor, mask: Tensor, types: Tensor) -> Reading:
        if isinstance(self.network, PrunedSpanNetwork):
            return self.network.read(ids, mask, types, draw_kept(self.network.kept))
        return read_all(self.network, ids, mask, types)

    def _mean_loss(
        self, outputs: Sequence[tuple[Tensor, Tensor]], labels: Sequence[Tensor], opinions: Sequence[Tensor] | None
    ) -> Tensor:
        """Compares logits ``[rows, kept]`` at their places with targets ``[rows, tokens]``, output by output.

        Args:
            outputs: logits with their places.
            labels: what is true, one target an output.
            opinions: what teachers think, likewise; None without teachers.
        """
        hard = _mean([soft_loss(z, y.gather(1, places)).mean() for (z, places), y in zip(outputs, labels, strict=True)])
        if opinions is None:
            return hard
        soft = [
            soft_loss(z, _share(p.gather(1, places))).mean() for (z, places), p in zip(outputs, opinions, strict=True)
        ]
        return torch.lerp(hard, _mean(soft), self._recipe.teacher_weight)

    def validate(self) -> dict[str, float]:
        """Scores held-out questions, and how well those put to a wrong paragraph can be told apart."""
        judged = judge(run(NetworkSession(self.network), self._tokenizer, self._validation))
        answerable = np.array([j.answerable for j in judged])
        f1 = float(np.array([j.f1 for j in judged])[answerable].mean())
        told = separation(np.array([j.candidate.margin for j in judged]), answerable)
        return {"mean": (f1 + told) / 2, "f1_forced": f1, "answer_or_not": told}


def _one_hot(places: Tensor, ids: Tensor) -> Tensor:
    """Makes targets ``[rows, tokens]`` float32 of the tokens ``[rows]`` to be chosen."""
    return torch.zeros_like(ids, dtype=torch.float32).scatter(1, places.unsqueeze(1), 1.0)


def _visible(logits: Tensor, mask: Tensor) -> Tensor:
    """Sees to it that padding cannot be chosen."""
    return logits.float().masked_fill(mask == 0, _IMPOSSIBLE)


def _share(opinion: Tensor) -> Tensor:
    """Shares out among the tokens that are left what was thought of all."""
    return opinion / opinion.sum(dim=1, keepdim=True).clamp_min(1e-6)


def _mean(losses: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(losses)).mean()


class NetworkSession(EagerSession):
    """Runs a network as :class:`engines.bert.session.BertSession` runs its export.

    Args:
        network: in evaluation mode.
    """

    inputs = QA_INPUTS

    def __init__(self, network: SpanNetwork) -> None:
        super().__init__(network, QA_INPUTS, QA_OUTPUTS)


def separation(margins: npt.NDArray[np.float64], answerable: npt.NDArray[np.bool_]) -> float:
    """Best share of right decisions between answer and no answer that any threshold of ``margins`` gives."""
    ordered = answerable[np.argsort(margins)]
    wrong_below = np.concatenate([[0], np.cumsum(ordered)])
    right_below = np.concatenate([[0], np.cumsum(~ordered)])
    right = right_below + (ordered.sum() - wrong_below)
    return float(right.max() / len(ordered))
