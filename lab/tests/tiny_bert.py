"""A BERT and an MPNet of two small layers with a vocabulary of their own: trained in seconds, and real all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

WORDS = [
    "a",
    "an",
    "the",
    "please",
    "order",
    "bring",
    "me",
    "i",
    "want",
    "can",
    "have",
    "with",
    "and",
    "of",
    "to",
    "in",
    "on",
    "is",
    "what",
    "who",
    "how",
    "play",
    "stop",
    "music",
    "tell",
    "small",
    "medium",
    "large",
    "pizza",
    "pasta",
    "soup",
    "cheese",
    "ham",
    "basil",
    "olives",
    "lots",
    "little",
    "bit",
    "some",
    "song",
    "jazz",
    "rock",
    "loud",
    "quiet",
    "now",
    "later",
    "she",
    "he",
    "they",
    "went",
    "home",
    "lost",
    "map",
    "late",
    "rain",
    "river",
    "bridge",
    "was",
    "opened",
    "built",
    "long",
    "metres",
    "steel",
    "old",
    "new",
    "when",
    "where",
    "which",
    ".",
    ",",
    "!",
    "?",
    "'",
    "12",
    "7",
    "one",
    "two",
    "three",
]


_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_PIECES = [*WORDS, *_CHARACTERS, *(f"##{character}" for character in _CHARACTERS)]
_SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def write_tiny_bert(folder: Path) -> Path:
    """Writes it as Hugging Face stores a BERT; returns the folder."""
    around = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    size = _write_tokenizer(folder, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], around)
    torch.manual_seed(0)
    BertModel(
        BertConfig(vocab_size=size, max_position_embeddings=300, **_SHAPE), add_pooling_layer=False
    ).save_pretrained(folder)
    return folder


def write_tiny_mpnet(folder: Path) -> Path:
    """Writes an MPNet likewise: the same pieces behind other special ones, and so under other numbers."""
    around = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    size = _write_tokenizer(folder, ["<s>", "<pad>", "</s>", "<unk>", "[PAD]", "[UNK]", "<mask>"], around)
    torch.manual_seed(0)
    MPNetModel(
        MPNetConfig(vocab_size=size, max_position_embeddings=302, **_SHAPE), add_pooling_layer=False
    ).save_pretrained(folder)
    return folder


@torch.no_grad()
def shake(network: nn.Module, by: float) -> None:
    """Changes all parameters a little: fresh ones are all alike, and the exporter would write them once."""
    for parameter in network.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=by)


def _write_tokenizer(folder: Path, special: list[str], around: processors.PostProcessor) -> int:
    """Writes ``tokenizer.json``; returns how many pieces it has."""
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys([*special, *_PIECES]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = around
    tokenizer.save(str(folder / "tokenizer.json"))
    return len(vocabulary)
