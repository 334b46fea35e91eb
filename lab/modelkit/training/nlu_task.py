"""Trains intents and slots: fresh variants of every utterance in every epoch, fresh outliers, and the joint loss."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from engines.bert.intent_decoding import NO_INTENT, IntentDecoder
from modelkit.nlu import Utterance
from modelkit.scoring import intent_accuracy, slot_f1
from modelkit.training.distillation import Teachers, soft_loss
from modelkit.training.nlu_rows import IGNORED, OUTLIER, Batch, make_batches, make_rows, make_unlabelled_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from torch import Tensor

    from engines.bert.intent_decoding import IntentLabels
    from engines.bert.tokenizing import UtteranceTokenizer
    from modelkit.networks import IntentSlotNetwork
    from modelkit.training.nlu_data import NluData
    from modelkit.training.nlu_recipe import NluRecipe
    from modelkit.training.nlu_texts import EpochTexts

_PREDICTED_ROWS = 64


@dataclass(frozen=True, slots=True)
class Logits:
    """Outputs of the network over a set; ``tags`` is padded to the longest row."""

    offsets: npt.NDArray[np.int64]
    intents: npt.NDArray[np.float32]
    tags: npt.NDArray[np.float32]


class NluTask:
    """What the loop trains (:class:`modelkit.training.loop.Task`).

    Args:
        network: is trained.
        data: what it is trained on.
        labels: names of its outputs.
        tokenizer: makes its inputs.
        texts: what an epoch shows.
        recipe: how it is trained.
        teachers: earlier networks with the same labels.
    """

    def __init__(
        self,
        network: IntentSlotNetwork,
        data: NluData,
        labels: IntentLabels,
        tokenizer: UtteranceTokenizer,
        texts: EpochTexts,
        recipe: NluRecipe,
        teachers: Teachers,
    ) -> None:
        self.network = network
        self._data, self._labels, self._tokenizer = data, labels, tokenizer
        self._texts, self._recipe, self._teachers = texts, recipe, teachers
        self._decoder = IntentDecoder(labels)
        outliers = [text for texts in data.held_out.values() for text in texts] if NO_INTENT in labels.intents else []
        self._validation = (*data.validation, *(Utterance(text, NO_INTENT, ()) for text in outliers))

    def batches(self, epoch: int) -> list[Batch]:
        """Makes fresh variants of all utterances, and draws fresh outliers and texts without labels."""
        rng = random.Random(self._recipe.schedule.seed * 1000 + epoch)
        rows = make_rows(self._texts.labelled(rng), self._labels, self._tokenizer)
        if unlabelled := self._texts.unlabelled(rng):
            rows += make_unlabelled_rows(unlabelled, self._tokenizer)
        return make_batches(rows, self._recipe.rows, rng)

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy of intents and tags, and on outliers the distance of the intent from uniform.

        The last is outlier exposure (Hendrycks et al., 2019, "Deep Anomaly Detection with Outlier Exposure", section
        4). Of texts without labels all that counts is what the teachers think.
        """
        device = next(self.network.parameters()).device
        ids, mask, tags, intents = (t.to(device) for t in (batch.ids, batch.mask, batch.tags, batch.intents))
        intent_logits, tag_logits = (logits.float() for logits in self.network(ids, mask))
        labelled, outside = intents >= 0, intents == OUTLIER
        taught = ~outside
        total: Tensor = tag_logits.sum() * 0.0
        if labelled.any():
            total = total + self._hard_loss(
                (intent_logits[labelled], tag_logits[labelled]), intents[labelled], tags[labelled]
            )
        if self._teachers and taught.any():
            # Outliers are left out: teachers take most of the time and have no say in them.
            soft = self._soft_loss(
                (ids[taught], mask[taught]), (intent_logits[taught], tag_logits[taught]), tags[taught] != IGNORED
            )
            labels_share = (1 - self._recipe.teacher_weight) * labelled.sum() / taught.sum()
            total = torch.lerp(soft, total, labels_share)
        if outside.any():
            uniform = -functional.log_softmax(intent_logits[outside], dim=-1).mean()
            total = total + self._recipe.outlier_weight * uniform * outside.float().mean()
        return total

    def _hard_loss(self, logits: tuple[Tensor, Tensor], intents: Tensor, tags: Tensor) -> Tensor:
        named = functional.cross_entropy(logits[0], intents, label_smoothing=self._recipe.label_smoothing)
        return named + functional.cross_entropy(logits[1].flatten(0, 1), tags.flatten(), ignore_index=IGNORED)

    def _soft_loss(self, inputs: tuple[Tensor, Tensor], logits: tuple[Tensor, Tensor], words: Tensor) -> Tensor:
        intents, tags = self._teachers.opinions(*inputs, masks=(None, None))
        tagged = soft_loss(logits[1], tags)[words]
        return soft_loss(logits[0], intents).mean() + tagged.mean()

    def validate(self) -> dict[str, float]:
        """Scores the validation set; the mean of both figures comes first.

        Where ``none`` is an intent of its own, the outliers that were held out are to get it.
        """
        utterances = self._validation
        scores = score(predict(self.network, [u.text for u in utterances], self._tokenizer), utterances, self._decoder)
        return {"mean": sum(scores.values()) / len(scores), **scores}


def predict(network: IntentSlotNetwork, texts: Sequence[str], tokenizer: UtteranceTokenizer) -> Logits:
    """Runs the network over ``texts`` without training it."""
    network.eval()
    device = next(network.parameters()).device
    batch = tokenizer.encode(texts)
    intents, tags = [], []
    with torch.no_grad():
        for first in range(0, len(batch), _PREDICTED_ROWS):
            part = slice(first, first + _PREDICTED_ROWS)
            inputs = (torch.from_numpy(array[part]).to(device) for array in (batch.input_ids, batch.attention_mask))
            intent_logits, tag_logits = network(*inputs)
            intents.append(intent_logits.float().cpu().numpy())
            tags.append(tag_logits.float().cpu().numpy())
    return Logits(batch.offsets, np.concatenate(intents), np.concatenate(tags))


def score(logits: Logits, utterances: Sequence[Utterance], decoder: IntentDecoder) -> dict[str, float]:
    """Intent accuracy and slot F1 of decoded logits."""
    texts = [utterance.text for utterance in utterances]
    got = decoder.decode(texts, logits.offsets, logits.intents, logits.tags)
    f1 = slot_f1([u.slots for u in utterances], [g.slots for g in got]).f1
    return {"intent_accuracy": intent_accuracy(utterances, got), "slot_f1": f1}
