"""A BERT of two small layers with a vocabulary of its own: trained in seconds, and a real one all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

if TYPE_CHECKING:
    from pathlib import Path

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


def write_tiny_bert(folder: Path) -> Path:
    """Writes it as Hugging Face stores a BERT; returns the folder."""
    pieces = [*"abcdefghijklmnopqrstuvwxyz0123456789", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789")]
    names = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *pieces])
    vocabulary = {word: number for number, word in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=300,
    )
    torch.manual_seed(0)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder
