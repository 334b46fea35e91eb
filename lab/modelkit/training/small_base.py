"""A smaller BERT to start from: the first layers of another one, and the commonest pieces of its vocabulary."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokenizers import Tokenizer
from torch import nn

from engines.build.files import write_whole
from modelkit.errors import TrainingError
from modelkit.loading import quietly
from modelkit.networks import load_encoder
from modelkit.training.bases import TOKENIZER, Base

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.networks import Encoder


def cut(base: Base, folder: Path, layers: int, pieces: int) -> Base:
    """Makes a smaller base of one that Hugging Face stores; an earlier engine is taken as it is.

    Args:
        base: what is cut.
        folder: where the smaller one is written.
        layers: the first so many are kept.
        pieces: so many of the vocabulary are kept, the first and commonest ones; rarer words are spelled with more of
            them.

    Raises:
        TrainingError: a special token is not among them.
    """
    if base.trained:
        return base
    encoder = load_encoder(base.directory)
    stack = encoder.encoder.layer
    encoder.encoder.layer = nn.ModuleList(stack[:layers])
    encoder.config.num_hidden_layers = len(encoder.encoder.layer)
    with quietly():
        _cut_vocabulary(encoder, base.tokenizer, folder / TOKENIZER, pieces)
        encoder.save_pretrained(folder)
    return Base(base.name, folder)


def _cut_vocabulary(encoder: Encoder, tokenizer: Path, target: Path, pieces: int) -> None:
    fields = json.loads(tokenizer.read_text(encoding="utf-8"))
    vocabulary = fields["model"]["vocab"]
    specials = [*Tokenizer.from_file(str(tokenizer)).encode("").ids, vocabulary[fields["model"]["unk_token"]]]
    needed = max(specials) + 1
    if pieces < needed:
        raise TrainingError(f"pieces={pieces} leaves out the special tokens: keep {needed} or more")
    fields["model"]["vocab"] = {piece: number for piece, number in vocabulary.items() if number < pieces}
    write_whole(target, json.dumps(fields, ensure_ascii=False))
    encoder.resize_token_embeddings(min(pieces, len(vocabulary)))
