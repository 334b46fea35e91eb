"""Training rows of the intent and slot engine: tokens with their targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.bert.intent_decoding import NO_INTENT
from engines.bert.tokenizing import NO_OFFSET
from modelkit.training.padding import pad

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from engines.bert.intent_decoding import IntentLabels
    from engines.bert.tokenizing import UtteranceTokenizer
    from modelkit.nlu import Utterance

IGNORED = -100
"""Target of what the loss leaves out: tokens that begin no word, and the tags of outliers."""
OUTLIER = -1
"""Intent of an utterance that no intent covers, where ``none`` is no intent of its own."""
UNLABELLED = -2
"""Intent of a text that only teachers label."""


@dataclass(frozen=True, slots=True)
class Row:
    """Token ids, the intent's index or :data:`OUTLIER` or :data:`UNLABELLED`, one tag or :data:`IGNORED` a token."""

    input_ids: npt.NDArray[np.int64]
    intent: int
    tags: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded rows, int64: ids, mask and tags ``[rows, tokens]``, intents ``[rows]``."""

    ids: torch.Tensor
    mask: torch.Tensor
    tags: torch.Tensor
    intents: torch.Tensor


def make_rows(utterances: Sequence[Utterance], labels: IntentLabels, tokenizer: UtteranceTokenizer) -> list[Row]:
    """Tokenizes utterances and places their labels; an intent that is no label makes an outlier."""
    intents = {name: index for index, name in enumerate(labels.intents)}
    tags = {name: index for index, name in enumerate(labels.tags)}
    encoded = _encoded([utterance.text for utterance in utterances], tokenizer)
    rows = []
    for utterance, (ids, offsets) in zip(utterances, encoded, strict=True):
        intent = intents.get(utterance.intent or NO_INTENT, OUTLIER)
        targets = _tag_targets(utterance, offsets, tags)
        if intent == OUTLIER:
            targets[:] = IGNORED
        rows.append(Row(ids, intent, targets))
    return rows


def make_unlabelled_rows(texts: Sequence[str], tokenizer: UtteranceTokenizer) -> list[Row]:
    """Tokenizes texts without labels; their tags only tell which tokens begin a word."""
    return [Row(ids, UNLABELLED, _no_slots(offsets)) for ids, offsets in _encoded(texts, tokenizer)]


def word_tags(utterance: Utterance, labels: IntentLabels, tokenizer: UtteranceTokenizer) -> list[int]:
    """Gives the index of every word's tag."""
    (row,) = make_rows([utterance], labels, tokenizer)
    return [int(tag) for tag in row.tags if tag != IGNORED]


def make_batches(rows: Sequence[Row], size: int, rng: random.Random) -> list[Batch]:
    """Groups rows of like length into batches of ``size``, in random order."""
    ordered = sorted(rows, key=lambda row: (len(row.input_ids) // 3, rng.random()))
    groups = [ordered[first : first + size] for first in range(0, len(ordered), size)]
    rng.shuffle(groups)
    return [_collate(group) for group in groups]


def _encoded(
    texts: Sequence[str], tokenizer: UtteranceTokenizer
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yields the numbers ``[pieces]`` and places ``[pieces, 2]`` of each text, without what fills the batch up."""
    batch = tokenizer.encode(texts)
    for row, length in enumerate(batch.attention_mask.sum(axis=1).tolist()):
        yield batch.input_ids[row, :length], batch.offsets[row, :length]


def _tag_targets(
    utterance: Utterance, offsets: npt.NDArray[np.int64], tags: Mapping[str, int]
) -> npt.NDArray[np.int64]:
    targets = _no_slots(offsets)
    for slot in utterance.slots:
        inside = np.flatnonzero((offsets[:, 0] < slot.end) & (offsets[:, 1] > slot.start))
        targets[inside] = tags.get(f"I-{slot.name}", 0)
        targets[inside[:1]] = tags.get(f"B-{slot.name}", 0)
    return targets


def _no_slots(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.where(offsets[:, 0] == NO_OFFSET, IGNORED, 0)


def _collate(group: Sequence[Row]) -> Batch:
    ids = [row.input_ids for row in group]
    intents = torch.tensor([row.intent for row in group])
    return Batch(pad(ids), pad([np.ones_like(row) for row in ids]), pad([row.tags for row in group], IGNORED), intents)
