"""Trains punctuation and capitals: fresh stretches of text in every epoch, and the sum of both losses."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from engines.bert.punctuator import Punctuator, WordTokenizer
from modelkit.eager import EagerSession
from modelkit.export import PUNCTUATION_INPUTS, PUNCTUATION_OUTPUTS
from modelkit.punctuation import IGNORED
from modelkit.scoring import class_f1
from modelkit.training.punctuation_data import running_texts
from modelkit.training.punctuation_rows import Batch, make_batches, make_rows, tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from engines.bert.punctuator import Session
    from modelkit.networks import PunctuationNetwork
    from modelkit.punctuation import LabelledWord
    from modelkit.training.punctuation_data import PunctuationData
    from modelkit.training.punctuation_recipe import PunctuationRecipe

_MARK_NAMES = ("none", "comma", "full_stop", "question_mark")
_CASE_NAMES = ("lower", "capital", "upper")


class PunctuationTask:
    """What the loop trains (:class:`modelkit.training.loop.Task`).

    Args:
        network: is trained.
        data: what it is trained on.
        tokenizer: makes its inputs.
        recipe: how it is trained.
    """

    def __init__(
        self,
        network: PunctuationNetwork,
        data: PunctuationData,
        tokenizer: WordTokenizer,
        recipe: PunctuationRecipe,
    ) -> None:
        self.network = network
        self._tokenizer, self._recipe = tokenizer, recipe
        self._paragraphs = tokenize([p for p in data.training if not p.is_question], tokenizer)
        self._questions = tokenize([p for p in data.training if p.is_question], tokenizer)
        self._validation = running_texts(data.validation)[: recipe.validated]

    def batches(self, epoch: int) -> list[Batch]:
        """Draws fresh questions, and cuts all of it anew."""
        rng = random.Random(self._recipe.schedule.seed * 1000 + epoch)
        asked = rng.sample(self._questions, round(self._recipe.questions * len(self._questions)))
        shown = [*self._paragraphs, *asked]
        rng.shuffle(shown)
        return make_batches(make_rows(shown, self._tokenizer, self._recipe, rng), self._recipe.batch_tokens, rng)

    def loss(self, batch: Batch) -> Tensor:
        """Sum of the mean cross-entropies of marks and cases."""
        device = next(self.network.parameters()).device
        logits = self.network(batch.ids.to(device), batch.mask.to(device))
        targets = (batch.marks.to(device), batch.cases.to(device))
        losses = [
            functional.cross_entropy(values.float().flatten(0, 1), target.flatten(), ignore_index=IGNORED)
            for values, target in zip(logits, targets, strict=True)
        ]
        return torch.stack(losses).sum()

    def validate(self) -> dict[str, float]:
        """Scores held-out paragraphs; the mean F1 of all marks and cases comes first."""
        scores = score(NetworkSession(self.network), self._tokenizer, self._validation)
        return {"mean_f1": float(np.mean(list(scores.values()))), **scores}


class NetworkSession(EagerSession):
    """Runs a network as :class:`engines.bert.session.BertSession` runs its export.

    Args:
        network: in evaluation mode.
    """

    def __init__(self, network: PunctuationNetwork) -> None:
        super().__init__(network, PUNCTUATION_INPUTS, PUNCTUATION_OUTPUTS)


def score(session: Session, tokenizer: WordTokenizer, texts: Sequence[Sequence[LabelledWord]]) -> dict[str, float]:
    """F1 of every mark and every case but the usual ones, over all words of the texts.

    The text's end is no help: that its last word ends a sentence counts as it does anywhere else.
    """
    judged = Punctuator(session, tokenizer, {}).judge([[word.text for word in words] for words in texts])
    truth = [word for words in texts for word in words]
    marks = np.concatenate([judgement.marks.argmax(-1) for judgement in judged]).tolist()
    cases = np.concatenate([judgement.cases.argmax(-1) for judgement in judged]).tolist()
    marked = [(word.mark, found) for word, found in zip(truth, marks, strict=True)]
    cased = [(word.case, found) for word, found in zip(truth, cases, strict=True) if word.case != IGNORED]
    return {
        **{name: class_f1(marked, index) for index, name in enumerate(_MARK_NAMES) if index},
        **{name: class_f1(cased, index) for index, name in enumerate(_CASE_NAMES) if index},
    }
