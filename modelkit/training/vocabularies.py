"""Lets a network read what the tokenizer of another one wrote, where both cut texts into the same pieces.

MPNet, for one, has BERT's word pieces under other numbers: it can teach a BERT once these are translated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn

from engines.bert.tokenizing import UtteranceTokenizer
from modelkit.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    from torch import Tensor


class Translated(nn.Module):
    """A network that is given the token ids of another vocabulary.

    Args:
        network: takes token ids and attention mask, ``[rows, tokens]`` int64 both.
        ids: int64, for every id of the other vocabulary the network's own.
    """

    def __init__(self, network: nn.Module, ids: Tensor) -> None:
        super().__init__()
        self._network = network
        self.register_buffer("_ids", ids)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """Returns what the network does."""
        outputs: tuple[Tensor, ...] = self._network(self._ids[input_ids], attention_mask)
        return outputs


def translation(written: Path, read: Path, texts: Sequence[str]) -> Tensor | None:
    """Finds the numbers that one tokenizer has for the pieces of another.

    Args:
        written: ``tokenizer.json`` of what is written.
        read: ``tokenizer.json`` of the network that is to read it.
        texts: are to come out the same.

    Returns:
        For every id of ``written`` that of ``read``, int64; None where both are the same. Pieces that only
        ``written`` has become the unknown one.

    Raises:
        TrainingError: the texts are cut into other pieces.
    """
    tokenizers = [UtteranceTokenizer(path) for path in (written, read)]
    ids = _pieces_in(Tokenizer.from_file(str(written)), Tokenizer.from_file(str(read)))
    # What stands around a text is known by its place.
    around = (tokenizer.encode([""]).input_ids[0] for tokenizer in tokenizers)
    for number, other in zip(*around, strict=False):
        ids[number] = other
    ours, theirs = (tokenizer.encode(texts) for tokenizer in tokenizers)
    there = ours.attention_mask.astype(bool)
    if not np.array_equal(ours.attention_mask, theirs.attention_mask) or not np.array_equal(
        ids[ours.input_ids][there], theirs.input_ids[there]
    ):
        raise TrainingError(f"{read} cuts texts into other pieces than {written}: both must have one vocabulary")
    return None if np.array_equal(ids, np.arange(len(ids))) else torch.from_numpy(ids)


def _pieces_in(written: Tokenizer, read: Tokenizer) -> npt.NDArray[np.int64]:
    """Looks pieces up by their spelling."""
    pieces, known = written.get_vocab(), read.get_vocab()
    unknown = known.get(getattr(read.model, "unk_token", None) or "", 0)
    ids = np.full(max(pieces.values()) + 1, unknown, np.int64)
    for piece, number in pieces.items():
        ids[number] = known.get(piece, unknown)
    return ids
