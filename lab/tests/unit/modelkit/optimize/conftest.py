"""A question answering engine with a tiny random BERT, and questions for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from modelkit.networks import IntentSlotNetwork, SpanNetwork
from modelkit.optimize import timing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import nn

WORDS = (
    *("the", "bridge", "was", "opened", "in", "1932", "it", "is", "long", "and", "made", "of", "steel"),
    *("who", "what", "how", "when", "built", "by", "a", "man"),
)
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PARAGRAPHS = ("the bridge was opened in 1932", "it is long and made of steel", "a man built the bridge in 1932")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long these networks take is of no interest."""
    monkeypatch.setattr(timing, "_PAUSE_SECONDS", 0.0)


def config(layers: int = 6, **changes: object) -> BertConfig:
    return BertConfig(
        vocab_size=len(WORDS) + len(SPECIALS),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=512,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **changes,
    )


@pytest.fixture
def network() -> SpanNetwork:
    torch.manual_seed(0)
    made = SpanNetwork(BertModel(config(), add_pooling_layer=False)).eval()
    enliven(made)
    return made


@pytest.fixture
def intent_network() -> IntentSlotNetwork:
    torch.manual_seed(0)
    return IntentSlotNetwork(BertModel(config(2), add_pooling_layer=False), 3, 5).eval()


def enliven(network: nn.Module) -> None:
    """Makes random weights as large as those of a trained network, lest all logits be alike."""
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 2:
                parameter.mul_(5)


def inputs(rows: int = 3, tokens: int = 12) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, len(WORDS) + 5, (rows, tokens), generator=generator)
    mask = torch.ones_like(ids)
    mask[-1, tokens // 2 :] = 0
    return ids * mask, mask, (torch.arange(tokens) > 4).long().expand(rows, -1) * mask


@pytest.fixture
def engine(tmp_path: Path, network: SpanNetwork) -> Path:
    """An engine directory with what optimizing needs of it."""
    write_network(tmp_path / "engine", network)
    write_tokenizer(tmp_path / "engine" / "training" / "tokenizer.json")
    return tmp_path / "engine"


def write_network(engine: Path, network: SpanNetwork, kept: Sequence[int] = ()) -> None:
    """Makes a network that of an engine; it drops tokens where ``kept`` says how many go on."""
    folder = engine / "training"
    folder.mkdir(parents=True, exist_ok=True)
    settings = network.encoder.config.to_dict() | {"kept_tokens": list(kept)}
    guesses = {f"guesses.{number}.weight": torch.ones(1, settings["hidden_size"]) for number in range(len(kept))}
    torch.save(network.state_dict() | guesses, folder / "network.pt")
    (folder / "config.json").write_text(json.dumps(settings))


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A SQuAD file of 60 questions."""
    paragraphs = [
        {
            "context": context,
            "qas": [
                {
                    "id": f"{number}-{repeated}",
                    "question": f"when was it {WORDS[repeated]}",
                    "answers": [{"answer_start": 0, "text": context.split()[0]}],
                }
                for repeated in range(20)
            ],
        }
        for number, context in enumerate(PARAGRAPHS)
    ]
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"data": [{"title": "bridge", "paragraphs": paragraphs}]}))
    return path


def write_tokenizer(path: Path) -> None:
    vocabulary = {word: number for number, word in enumerate((*SPECIALS, *WORDS))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.save(str(path))
