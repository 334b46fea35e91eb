"""Trains intents and slots: fresh variants of every utterance in every epoch, fresh outliers, and the joint loss."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from engines.bert.intent_decoding import NO_INTENT, IntentDecoder
from modelkit.augment import speech_like
from modelkit.nlu import Utterance
from modelkit.scoring import intent_accuracy, slot_f1
from modelkit.sound_alikes import SoundAlikes
from modelkit.substitution import collect_values, substitute_values
from modelkit.training.distillation import Teachers, soft_loss
from modelkit.training.nlu_rows import IGNORED, OUTLIER, Batch, make_batches, make_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    from torch import Tensor

    from engines.bert.intent_decoding import IntentLabels
    from engines.bert.tokenizing import UtteranceTokenizer
    from modelkit.networks import IntentSlotNetwork
    from modelkit.training.nlu_data import NluData
    from modelkit.training.nlu_recipe import NluRecipe

_PREDICTED_ROWS = 64


@dataclass(frozen=True, slots=True)
class Logits:
    """Outputs of the network over a set; ``tags`` is padded to the longest row."""

    offsets: npt.NDArray[np.int64]
    intents: npt.NDArray[np.float32]
    tags: npt.NDArray[np.float32]


class Augmenter:
    """Makes variants of utterances: other values in the slots, words misheard, written as a recognizer writes.

    Args:
        data: whose values are put in.
        recipe: how much of each.
        tokenizer: ``tokenizer.json``, whose vocabulary has the words that others are taken for.
    """

    def __init__(self, data: NluData, recipe: NluRecipe, tokenizer: Path) -> None:
        self._values = collect_values(data.training, {**data.lookups, **data.slot_values})
        self._alikes = SoundAlikes(Tokenizer.from_file(str(tokenizer)).get_vocab())
        self._recipe = recipe

    def vary(self, utterance: Utterance, rng: random.Random) -> Utterance:
        """Makes one variant."""
        utterance = substitute_values(utterance, self._values, self._recipe.substitution, rng)
        return speech_like(self._alikes.mishear(utterance, self._recipe.mishearing, rng), rng)


class NluTask:
    """What the loop trains (:class:`modelkit.training.loop.Task`).

    Args:
        network: is trained.
        data: what it is trained on.
        labels: names of its outputs.
        tokenizer: makes its inputs.
        augmenter: makes variants of the utterances.
        recipe: how it is trained.
        teachers: earlier networks with the same labels.
    """

    def __init__(
        self,
        network: IntentSlotNetwork,
        data: NluData,
        labels: IntentLabels,
        tokenizer: UtteranceTokenizer,
        augmenter: Augmenter,
        recipe: NluRecipe,
        teachers: Teachers,
    ) -> None:
        self.network = network
        self._data, self._labels, self._tokenizer = data, labels, tokenizer
        self._augmenter, self._recipe, self._teachers = augmenter, recipe, teachers
        self._decoder = IntentDecoder(labels)
        outliers = [text for texts in data.held_out.values() for text in texts] if NO_INTENT in labels.intents else []
        self._validation = (*data.validation, *(Utterance(text, NO_INTENT, ()) for text in outliers))

    def batches(self, epoch: int) -> list[Batch]:
        """Makes fresh variants of all utterances, and draws fresh outliers."""
        rng = random.Random(self._recipe.schedule.seed * 1000 + epoch)
        outliers = self._data.outliers
        chosen = rng.sample(outliers, min(self._recipe.outliers_per_epoch, len(outliers)))
        shown = [*self._data.training * self._recipe.copies, *(Utterance(text, "", ()) for text in chosen)]
        varied = [self._augmenter.vary(utterance, rng) for utterance in shown]
        return make_batches(make_rows(varied, self._labels, self._tokenizer), self._recipe.rows, rng)

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy of intents and tags, and on outliers the distance of the intent from uniform.

        The last is outlier exposure (Hendrycks et al., 2019, "Deep Anomaly Detection with Outlier Exposure", section
        4).
        """
        device = next(self.network.parameters()).device
        ids, mask, tags, intents = (t.to(device) for t in (batch.ids, batch.mask, batch.tags, batch.intents))
        intent_logits, tag_logits = (logits.float() for logits in self.network(ids, mask))
        inside = intents != OUTLIER
        total: Tensor = tag_logits.sum() * 0.0
        if inside.any():
            smoothing = self._recipe.label_smoothing
            total = total + functional.cross_entropy(intent_logits[inside], intents[inside], label_smoothing=smoothing)
            total = total + functional.cross_entropy(tag_logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORED)
            if self._teachers:
                # Outliers are left out: teachers take most of the time and have no say in them.
                soft = self._soft_loss(
                    (ids[inside], mask[inside]), (intent_logits[inside], tag_logits[inside]), tags[inside] != IGNORED
                )
                total = torch.lerp(total, soft, self._recipe.teacher_weight)
        if not inside.all():
            outside = -functional.log_softmax(intent_logits[~inside], dim=-1).mean()
            total = total + self._recipe.outlier_weight * outside * (~inside).float().mean()
        return total

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
