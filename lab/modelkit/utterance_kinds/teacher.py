"""The teacher: a whole MiniLM that learns the kinds of utterances, too large to serve them beside intents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from engines.bert.tokenizing import UtteranceTokenizer
from engines.bert.utterance_kinds import CLASSES, split_words
from modelkit.networks import EncoderNetwork, load_encoder

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from modelkit.networks import Encoder
    from modelkit.utterance_kinds.contrast import Labelled

_ROWS = 32
_RATE = 1e-4
_SMOOTHING = 0.05


class KindTeacher(EncoderNetwork):
    """An encoder with a head on ``[CLS]`` and the mean of all tokens."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.head = nn.Linear(2 * encoder.config.hidden_size, len(CLASSES))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Returns logits ``[rows, classes]``."""
        hidden = self.encoder(input_ids, attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        logits: Tensor = self.head(torch.cat([hidden[:, 0], (hidden * mask).sum(1) / mask.sum(1)], dim=-1))
        return logits


class Teacher:
    """Trains a :class:`KindTeacher` and labels texts with it.

    Args:
        base: directory of MiniLM.
    """

    def __init__(self, base: Path) -> None:
        self._tokenizer = UtteranceTokenizer(base / "tokenizer.json")
        self.network = KindTeacher(load_encoder(base))

    def train(self, examples: Sequence[Labelled], epochs: int, rng: random.Random, say: Callable[[str], None]) -> None:
        """Trains on sentences, each time in another order."""
        order = list(examples)
        steps = epochs * -(-len(order) // _ROWS)
        optimizer = torch.optim.AdamW(self.network.parameters(), lr=_RATE, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1, step / 50) * (1 - step / (steps + 1))
        )
        self.network.train()
        for epoch in range(epochs):
            # Texts of like length go together; the order of the batches is random.
            order.sort(key=lambda example: len(example.text) + rng.random() * 8)
            batches = [order[start : start + _ROWS] for start in range(0, len(order), _ROWS)]
            rng.shuffle(batches)
            for batch in batches:
                logits = self._logits([vary(example.text, example.label, rng) for example in batch])
                labels = torch.tensor([example.label for example in batch])
                loss = functional.cross_entropy(logits, labels, label_smoothing=_SMOOTHING)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
            say(f"teacher: epoch {epoch + 1} of {epochs}")

    def label(self, texts: Sequence[str]) -> Tensor:
        """Returns the probabilities of the classes, ``[texts, classes]``."""
        self.network.eval()
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        found = torch.empty(len(texts), len(CLASSES))
        with torch.inference_mode():
            for start in range(0, len(order), 64):
                numbers = order[start : start + 64]
                found[numbers] = self._logits([plain(texts[number]) for number in numbers]).softmax(-1)
        return found

    def _logits(self, texts: Sequence[str]) -> Tensor:
        batch = self._tokenizer.encode(texts)
        logits: Tensor = self.network(torch.from_numpy(batch.input_ids), torch.from_numpy(batch.attention_mask))
        return logits


def plain(text: str) -> str:
    """Writes a text as the classifier reads it: lower case, no marks but the question mark."""
    return " ".join(split_words(text))


def vary(text: str, label: int, rng: random.Random) -> str:
    """Writes a text as :func:`plain` does, with or without the mark that a recognizer may write."""
    words = [word for word in split_words(text) if word != "?"]
    asks = CLASSES[label].startswith("question") or (
        words and words[0] in {"can", "could", "would", "will", "do", "may"}
    )
    return " ".join([*words, *(["?"] if asks and rng.random() < 0.3 else [])])
