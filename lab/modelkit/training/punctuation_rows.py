"""Training rows of the punctuation engine: stretches of running text, token by token with their targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.session import group_rows
from modelkit.punctuation import IGNORED, PERIOD
from modelkit.training.padding import pad

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    import numpy.typing as npt
    import torch

    from engines.bert.punctuator import WordTokenizer
    from modelkit.training.punctuation_data import Passage
    from modelkit.training.punctuation_recipe import PunctuationRecipe

_TO_SENTENCE_END = 30


@dataclass(frozen=True, slots=True)
class Labelled:
    """A passage ready for cutting: the tokens of each word, and its two labels."""

    tokens: list[list[int]]
    labels: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Row:
    """Token ids ``[tokens]``, and for each the labels of the word that begins there, else :data:`IGNORED`."""

    input_ids: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded rows, int64: ids, mask, marks and cases ``[rows, tokens]``."""

    ids: torch.Tensor
    mask: torch.Tensor
    marks: torch.Tensor
    cases: torch.Tensor


def tokenize(passages: Sequence[Passage], tokenizer: WordTokenizer) -> list[Labelled]:
    """Prepares passages, once for all epochs."""
    tokens = tokenizer.encode([[word.text for word in passage.words] for passage in passages])
    labels = ([(word.mark, word.case) for word in passage.words] for passage in passages)
    return [Labelled(*pair) for pair in zip(tokens, labels, strict=True)]


def make_rows(
    passages: Sequence[Labelled], tokenizer: WordTokenizer, recipe: PunctuationRecipe, rng: random.Random
) -> list[Row]:
    """Lines passages up and cuts them into rows; short ones are as frequent as long ones, by the logarithm."""
    words = [word for passage in passages for word in zip(passage.tokens, passage.labels, strict=True)]
    rows, first = [], 0
    while first < len(words):
        length = round(math.exp(rng.uniform(math.log(recipe.shortest), math.log(recipe.longest))))
        last = min(len(words), first + length)
        if rng.random() < recipe.whole:
            ahead = range(last, min(len(words), last + _TO_SENTENCE_END) + 1)
            last = next((end for end in ahead if words[end - 1][1][0] >= PERIOD), last)
        tokens, labels = zip(*words[first:last], strict=True)
        ids, begins = tokenizer.frame(tokens)
        targets = np.full((len(ids), 2), IGNORED, np.int64)
        targets[begins] = labels
        rows.append(Row(ids, targets))
        first = last
    return rows


def make_batches(rows: Sequence[Row], tokens: int, rng: random.Random) -> list[Batch]:
    """Groups rows of like length into batches of at most ``tokens`` tokens, in random order."""
    groups = group_rows([len(row.input_ids) for row in rows], tokens)
    rng.shuffle(groups)
    return [_collate([rows[member] for member in group]) for group in groups]


def _collate(group: Sequence[Row]) -> Batch:
    ids = [row.input_ids for row in group]
    marks, cases = pad([row.targets for row in group], IGNORED).unbind(-1)
    return Batch(pad(ids), pad([np.ones_like(row) for row in ids]), marks, cases)
