"""Lets a network read what the tokenizer of another one wrote, where both cut texts into the same pieces.

MPNet, for one, has BERT's word pieces under other numbers, and wants the mark between two texts twice: it can teach a
BERT once both is seen to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn

from engines.bert.tokenizing import NO_SEGMENT, DocumentTokenizer, UtteranceTokenizer
from modelkit.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    from torch import Tensor

_SHOWN_CHARACTERS = 150
"""Of each document that two tokenizers are compared on: with the longest question no more than one window."""


class Translated(nn.Module):
    """A network that is given the token ids of another vocabulary.

    Args:
        network: takes token ids first, ``[rows, tokens]`` int64.
        ids: int64, for every id of the other vocabulary the network's own.
    """

    _ids: Tensor

    def __init__(self, network: nn.Module, ids: Tensor) -> None:
        super().__init__()
        self._network = network
        self.register_buffer("_ids", ids)

    def forward(self, input_ids: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        """Returns what the network does."""
        outputs: tuple[Tensor, ...] = self._network(self._ids[input_ids], *others)
        return outputs


class SeparatedTwice(nn.Module):
    """A network that wants the separator between two texts twice, and is given it once.

    Args:
        network: takes token ids and more ``[rows, tokens]``, int64, and returns one value a token.
        separator: the id.
    """

    def __init__(self, network: nn.Module, separator: int) -> None:
        super().__init__()
        self._network, self._separator = network, separator

    def forward(self, input_ids: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        """Returns what the network does, for the tokens that were given: ``[rows, tokens]`` each."""
        first = (input_ids == self._separator).int().argmax(dim=1, keepdim=True)
        places = torch.arange(input_ids.shape[1] + 1, device=input_ids.device)
        sources = places - (places > first).long()
        outputs = self._network(*(part.gather(1, sources) for part in (input_ids, *others)))
        given = places[:-1] + (places[:-1] > first).long()
        return tuple(part.gather(1, given) for part in outputs)


def translate(network: nn.Module, written: Path, read: Path, texts: Sequence[str]) -> nn.Module:
    """Has a network for utterances read what another tokenizer writes.

    Args:
        network: takes token ids and attention mask, ``[rows, tokens]`` int64 both.
        written: ``tokenizer.json`` of what it is to read. Pieces that only this one has become the unknown one.
        read: its own ``tokenizer.json``.
        texts: are to come out the same.

    Returns:
        The network itself where both number their pieces alike.

    Raises:
        TrainingError: the texts are cut into other pieces.
    """
    ids = _numbers(written, read)
    ours, theirs = (UtteranceTokenizer(path).encode(texts) for path in (written, read))
    there = ours.attention_mask.astype(bool)
    if not np.array_equal(ours.attention_mask, theirs.attention_mask) or not np.array_equal(
        ids[ours.input_ids][there], theirs.input_ids[there]
    ):
        raise _cut_otherwise(written, read)
    return _translated(network, ids)


def translate_pairs(network: nn.Module, written: Path, read: Path, pairs: Sequence[tuple[str, str]]) -> nn.Module:
    """Has a network for questions and documents read what another tokenizer writes.

    Args:
        network: takes token ids, attention mask and token types, ``[rows, tokens]`` int64 each, and returns one value
            a token.
        written: as for :func:`translate`.
        read: likewise.
        pairs: questions and documents, whose beginnings are to come out the same.

    Returns:
        The network itself where both write alike.

    Raises:
        TrainingError: the texts are cut into other pieces.
    """
    ids = _numbers(written, read)
    tokenizers = [DocumentTokenizer(path) for path in (written, read)]
    separator = None
    for question, document in pairs:
        ours, theirs = (tokenizer.encode(question, document[:_SHOWN_CHARACTERS]) for tokenizer in tokenizers)
        tokens = ids[ours.input_ids[0]]
        if theirs.input_ids.shape[1] > len(tokens):
            separator = int(tokens[-1])
            tokens = np.insert(tokens, np.flatnonzero(ours.segments[0] == NO_SEGMENT)[1], separator)
        if not np.array_equal(tokens, theirs.input_ids[0]):
            raise _cut_otherwise(written, read)
    return _translated(network if separator is None else SeparatedTwice(network, separator), ids)


def _translated(network: nn.Module, ids: npt.NDArray[np.int64]) -> nn.Module:
    return network if np.array_equal(ids, np.arange(len(ids))) else Translated(network, torch.from_numpy(ids))


def _cut_otherwise(written: Path, read: Path) -> TrainingError:
    return TrainingError(f"{read} cuts texts into other pieces than {written}: both must have one vocabulary")


def _numbers(written: Path, read: Path) -> npt.NDArray[np.int64]:
    """Returns, for every id of one tokenizer, the other's id of what is spelled alike."""
    ids = _pieces_in(Tokenizer.from_file(str(written)), Tokenizer.from_file(str(read)))
    # What stands around a text is known by its place.
    around = (UtteranceTokenizer(path).encode([""]).input_ids[0] for path in (written, read))
    for number, other in zip(*around, strict=False):
        ids[number] = other
    return ids


def _pieces_in(written: Tokenizer, read: Tokenizer) -> npt.NDArray[np.int64]:
    """Looks pieces up by their spelling."""
    pieces, known = written.get_vocab(), read.get_vocab()
    unknown = known.get(getattr(read.model, "unk_token", None) or "", 0)
    ids = np.full(max(pieces.values()) + 1, unknown, np.int64)
    for piece, number in pieces.items():
        ids[number] = known.get(piece, unknown)
    return ids
