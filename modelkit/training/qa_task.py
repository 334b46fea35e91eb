"""Trains answers: spans in windows of documents, and ``[CLS]`` where there is none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.bert.session import group_rows
from modelkit.calibrate_qa import judge, pair_wrongly
from modelkit.export import QA_INPUTS, QA_OUTPUTS
from modelkit.token_pruning import PrunedSpanNetwork, draw_kept, read_all
from modelkit.training.distillation import Teachers, soft_loss
from modelkit.training.qa_windows import Batch, make_batches, make_windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from torch import Tensor

    from engines.bert.tokenizing import DocumentTokenizer
    from modelkit.networks import SpanNetwork
    from modelkit.token_pruning import Reading
    from modelkit.training.qa_data import QaData
    from modelkit.training.qa_recipe import QaRecipe

_IMPOSSIBLE = -1e4
_OUTPUTS = tuple(QA_OUTPUTS)


class QaTask:
    """What the loop trains (:class:`modelkit.training.loop.Task`).

    Args:
        network: is trained.
        data: what it is trained on.
        tokenizer: cuts windows as the recipe says.
        recipe: how it is trained.
        teachers: earlier networks.
    """

    def __init__(
        self, network: SpanNetwork, data: QaData, tokenizer: DocumentTokenizer, recipe: QaRecipe, teachers: Teachers
    ) -> None:
        self.network = network
        self._data, self._tokenizer, self._recipe, self._teachers = data, tokenizer, recipe, teachers
        asked = data.validation[: recipe.validated]
        self._validation = (*asked, *pair_wrongly(asked, recipe.schedule.seed))

    def batches(self, epoch: int) -> list[Batch]:
        """Cuts all questions, with other wrong paragraphs in every epoch."""
        rng = random.Random(self._recipe.schedule.seed * 1000 + epoch)
        windows = make_windows(self._data.training, self._tokenizer, self._recipe.wrong_paragraph, rng)
        return make_batches(windows, self._recipe.batch_tokens, rng)

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
        judged = judge(NetworkSession(self.network), self._tokenizer, self._validation)
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


class NetworkSession:
    """Runs a network as :class:`engines.bert.session.BertSession` runs its export.

    Args:
        network: in evaluation mode.
    """

    inputs = QA_INPUTS

    def __init__(self, network: SpanNetwork) -> None:
        self._network = network
        self._device = next(network.parameters()).device

    @torch.no_grad()
    def run(self, requests: Sequence[Mapping[str, npt.NDArray[np.int64]]]) -> list[dict[str, npt.NDArray[np.float32]]]:
        """Runs all rows of all requests, those of like length together."""
        rows = [(n, row) for n, request in enumerate(requests) for row in range(len(request["input_ids"]))]
        lengths = [int(requests[n]["attention_mask"][row].sum()) for n, row in rows]
        results = [{name: np.zeros(r["input_ids"].shape, np.float32) for name in _OUTPUTS} for r in requests]
        for group in group_rows(lengths):
            width = max(lengths[member] for member in group)
            inputs = (self._stack(requests, [rows[member] for member in group], name, width) for name in self.inputs)
            for name, logits in zip(_OUTPUTS, self._network(*inputs), strict=True):
                for member, values in zip(group, logits.float().cpu().numpy(), strict=True):
                    number, row = rows[member]
                    results[number][name][row, : lengths[member]] = values[: lengths[member]]
        return results

    def _stack(
        self,
        requests: Sequence[Mapping[str, npt.NDArray[np.int64]]],
        rows: Sequence[tuple[int, int]],
        name: str,
        width: int,
    ) -> Tensor:
        stacked = np.zeros((len(rows), width), np.int64)
        for index, (number, row) in enumerate(rows):
            values = requests[number][name][row][:width]
            stacked[index, : len(values)] = values
        return torch.from_numpy(stacked).to(self._device)


def separation(margins: npt.NDArray[np.float64], answerable: npt.NDArray[np.bool_]) -> float:
    """Best share of right decisions between answer and no answer that any threshold of ``margins`` gives."""
    ordered = answerable[np.argsort(margins)]
    wrong_below = np.concatenate([[0], np.cumsum(ordered)])
    right_below = np.concatenate([[0], np.cumsum(~ordered)])
    right = right_below + (ordered.sum() - wrong_below)
    return float(right.max() / len(ordered))
