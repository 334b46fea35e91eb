"""Streaming checkpoints for tests: those of NeMo, changed ones, and small ones of transformers."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
import yaml
from tokenizers import Tokenizer
from tokenizers.models import BPE

if TYPE_CHECKING:
    from collections.abc import Callable

NEMO = Path(__file__).parents[3] / "fixtures" / "nemo"
CONFIG, WEIGHTS = "model_config.yaml", "model_weights.ckpt"
PIECES = ["<unk>", "▁the", "▁a", *(f"▁{letter}" for letter in "bcdefghij"), *"klmnopqrs"]

Config = dict[str, Any]


def changed(source: Path, target: Path, change: Callable[[Config], None], weights: bytes | None = None) -> Path:
    """Write an archive whose configuration was changed, and whose weights may be other bytes."""
    with tarfile.open(source) as archive:
        members = {
            Path(member.name).name: content.read()
            for member in archive.getmembers()
            if (content := archive.extractfile(member))
        }
    config = yaml.safe_load(members[CONFIG])
    change(config)
    members[CONFIG] = yaml.safe_dump(config).encode()
    if weights is not None:
        members[WEIGHTS] = weights
    with tarfile.open(target, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target


def hugging_face_folder(folder: Path, *, prompted: bool) -> transformers.PreTrainedModel:
    """Save a small network of transformers with random weights and its tokenizer; return the network."""
    torch.manual_seed(3)
    encoder = transformers.NemotronAsrStreamingEncoderConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        subsampling_conv_channels=16,
        attention_bias=False,
        convolution_bias=False,
    ).to_dict()
    sizes = {
        "vocab_size": len(PIECES) + 1,
        "blank_token_id": len(PIECES),
        "pad_token_id": len(PIECES),
        "decoder_hidden_size": 32,
        "num_decoder_layers": 2,
        "encoder_config": encoder,
    }
    network: transformers.PreTrainedModel
    if prompted:
        config = transformers.Nemotron3_5AsrConfig(
            **sizes, num_prompts=8, prompt_intermediate_size=48, default_prompt_id=5
        )
        network = transformers.Nemotron3_5AsrForRNNT(config)
    else:
        network = transformers.NemotronAsrStreamingForRNNT(transformers.NemotronAsrStreamingConfig(**sizes))
    for name, parameter in network.named_parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=parameter[0].numel() ** -0.5)
        elif name.endswith("joint.head.bias"):
            # As many blanks as tokens.
            torch.nn.init.normal_(parameter, std=0.3)
            parameter.data[-1] += 1.0
    network.eval().save_pretrained(folder)
    Tokenizer(BPE(vocab={piece: token for token, piece in enumerate(PIECES)}, merges=[])).save(
        str(folder / "tokenizer.json")
    )
    return network
