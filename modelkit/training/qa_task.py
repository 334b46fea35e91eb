"""Trains answers: spans in windows of documents, and ``[CLS]`` where there is none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from engines.bert.session import group_rows
from modelkit.calibrate_qa import judge, pair_wrongly
from modelkit.export import QA_INPUTS, QA_OUTPUTS
from modelkit.training.distillation import Teachers, soft_loss
from modelkit.training.qa_windows import Batch, make_batches, make_windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from torch import Tensor

    from engines.bert.tokenizing import DocumentTokenizer
    from modelkit.networks import SpanNetwork
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
        """Mean cross-entropy of start and end; padding cannot be chosen."""
        device = next(self.network.parameters()).device
        ids, mask, types = (t.to(device) for t in (batch.ids, batch.mask, batch.types))
        padding = mask == 0
        logits = [part.float().masked_fill(padding, _IMPOSSIBLE) for part in self.network(ids, mask, types)]
        targets = (batch.start.to(device), batch.end.to(device))
        hard = torch.stack([functional.cross_entropy(*pair) for pair in zip(logits, targets, strict=True)]).mean()
        if not self._teachers:
            return hard
        opinions = self._teachers.opinions(ids, mask, types, masks=(padding, padding))
        soft = torch.stack([soft_loss(*pair).mean() for pair in zip(logits, opinions, strict=True)]).mean()
        return torch.lerp(hard, soft, self._recipe.teacher_weight)

    def validate(self) -> dict[str, float]:
        """Scores held-out questions, and how well those put to a wrong paragraph can be told apart."""
        judged = judge(NetworkSession(self.network), self._tokenizer, self._validation)
        answerable = np.array([j.answerable for j in judged])
        f1 = float(np.array([j.f1 for j in judged])[answerable].mean())
        told = separation(np.array([j.candidate.margin for j in judged]), answerable)
        return {"mean": (f1 + told) / 2, "f1_forced": f1, "answer_or_not": told}


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
