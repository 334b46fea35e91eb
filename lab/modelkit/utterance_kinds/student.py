"""The network that is served: two convolutions over embeddings, trained on sentences and on what a teacher says."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from engines.bert.utterance_kinds import CLASSES, GRAMS, PADDING, UNKNOWN, KindClassifier, grams, split_words
from modelkit.utterance_kinds.teacher import vary

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokenizers import Tokenizer

WIDTH, HIDDEN = 64, 160
_DROPOUT = 0.3
_ROWS = 64
_RATE = 2e-3
_WORDS_RATE = 0.3
"""Share of the learning rate of word embeddings, which begin as those of MiniLM."""
_UNKNOWN_SHARE = 0.03
_SMOOTHING = 0.05


class Example(NamedTuple):
    """A text and the probabilities of its classes."""

    text: str
    target: Tensor


class KindNetwork(nn.Module):
    """See :mod:`engines.bert.utterance_kinds`, which computes the same in numpy."""

    def __init__(self, words: Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding(len(words), WIDTH, padding_idx=PADDING)
        self.grams = nn.EmbeddingBag(GRAMS, WIDTH, mode="mean")
        self.first = nn.Conv1d(WIDTH, HIDDEN, 3, padding=1)
        self.second = nn.Conv1d(HIDDEN, HIDDEN, 3, padding=1)
        self.output = nn.Linear(4 * HIDDEN, len(CLASSES))
        self.dropout = nn.Dropout(_DROPOUT)
        with torch.no_grad():
            self.words.weight.copy_(words)
            self.grams.weight.mul_(0.3)

    def forward(self, words: Tensor, grams_: Tensor, starts: Tensor, mask: Tensor) -> Tensor:
        """Returns logits ``[rows, classes]``.

        Args:
            words: rows of the vocabulary, ``[rows, words]``.
            grams_: buckets of all words, one behind the other.
            starts: where those of each word begin, ``[rows * words]``.
            mask: 1 for a word, 0 for padding, ``[rows, words]``.
        """
        rows, length = words.shape
        inputs = (self.words(words) + self.grams(grams_, starts).view(rows, length, -1)) * mask[..., None]
        hidden = self.dropout(inputs.transpose(1, 2))
        first = torch.relu(self.first(hidden)) * mask[:, None]
        second = (first + torch.relu(self.second(first))) * mask[:, None]
        read = [second.amax(2), second.sum(2) / mask.sum(1, keepdim=True), second[:, :, 0], second[:, :, 1]]
        logits: Tensor = self.output(self.dropout(torch.cat(read, 1)))
        return logits

    def classifier(self, vocabulary: Mapping[str, int]) -> KindClassifier:
        """Returns the same network in numpy."""
        arrays = {
            "words": self.words.weight,
            "grams": self.grams.weight,
            "convolution1": self.first.weight,
            "bias1": self.first.bias,
            "convolution2": self.second.weight,
            "bias2": self.second.bias,
            "output": self.output.weight,
            "bias": self.output.bias,
        }
        held = {name: value.detach().numpy() for name, value in arrays.items() if value is not None}
        return KindClassifier(held, vocabulary)


def choose_vocabulary(texts: Iterable[str], size: int) -> dict[str, int]:
    """Numbers the most frequent words of some texts."""
    counts = collections.Counter(word for text in texts for word in split_words(text))
    return {word: row for row, (word, _) in enumerate(counts.most_common(size), UNKNOWN + 1)}


def begin_words(vocabulary: Mapping[str, int], tokenizer: Tokenizer, pieces: Tensor) -> Tensor:
    """Makes word embeddings of those of MiniLM's pieces, by their main components.

    Args:
        vocabulary: of the words.
        tokenizer: of MiniLM.
        pieces: embeddings of its pieces, ``[pieces, 384]``.
    """
    means = torch.stack(
        [pieces[tokenizer.encode(word, add_special_tokens=False).ids or [0]].mean(0) for word in vocabulary]
    )
    centred = means - means.mean(0)
    _, _, components = torch.pca_lowrank(centred, q=WIDTH, center=False)
    words = centred @ components
    return torch.cat([torch.zeros(UNKNOWN + 1, WIDTH), 0.5 * words / words.std()])


def train(
    examples: Sequence[Example],
    words: Tensor,
    vocabulary: Mapping[str, int],
    epochs: int,
    rng: random.Random,
    say: Callable[[str], None],
) -> KindNetwork:
    """Trains a network."""
    network, order = KindNetwork(words), list(examples)
    steps = epochs * -(-len(order) // _ROWS)
    own = [parameter for name, parameter in network.named_parameters() if name != "words.weight"]
    groups: list[dict[str, Any]] = [{"params": [network.words.weight], "lr": _RATE * _WORDS_RATE}, {"params": own}]
    optimizer = torch.optim.AdamW(groups, lr=_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, step / 100) * max(0.01, 1 - step / steps)
    )
    network.train()
    for epoch in range(epochs):
        rng.shuffle(order)
        for start in range(0, len(order), _ROWS):
            batch = order[start : start + _ROWS]
            texts = [vary(example.text, int(example.target.argmax()), rng) for example in batch]
            targets = torch.stack([example.target for example in batch])
            likelihoods = network(*_tensors(texts, vocabulary, rng)).log_softmax(-1)
            loss = -(targets * likelihoods).sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        say(f"student: epoch {epoch + 1} of {epochs}")
    return network.eval()


def certain(label: int) -> Tensor:
    """Returns the target of a text whose class is known."""
    target = torch.full((len(CLASSES),), _SMOOTHING / len(CLASSES))
    target[label] += 1 - _SMOOTHING
    return target


def _tensors(
    texts: Sequence[str], vocabulary: Mapping[str, int], rng: random.Random
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Makes the inputs of :meth:`KindNetwork.forward`; now and then a word is taken for an unknown one."""
    split = [split_words(text) for text in texts]
    length = max(2, *map(len, split)) if len(split) > 1 else max(2, len(split[0]))
    words, mask = torch.full((len(split), length), PADDING), torch.zeros(len(split), length)
    buckets, starts = list[int](), list[int]()
    for row, listed in enumerate(split):
        for column in range(length):
            starts.append(len(buckets))
            if column >= len(listed):
                buckets.append(0)
                continue
            word = listed[column]
            words[row, column] = UNKNOWN if rng.random() < _UNKNOWN_SHARE else vocabulary.get(word, UNKNOWN)
            mask[row, column] = 1
            buckets += grams(word)
    return words, torch.tensor(buckets), torch.tensor(starts), mask
