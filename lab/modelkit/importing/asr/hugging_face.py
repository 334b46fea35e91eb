"""Reads Hugging Face folders of transformers' ``nemotron_asr_streaming`` and ``nemotron3_5_asr``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from engines.asr.fastconformer.shape import SUBSAMPLING, Shape
from engines.asr.serving.utterance import SAMPLE_RATE
from modelkit.errors import CheckpointError
from modelkit.importing.asr.checkpoint import AsrCheckpoint, check_sizes
from modelkit.importing.engine import digests
from modelkit.importing.weights import read_state
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

STREAMING, PROMPTED = "nemotron_asr_streaming", "nemotron3_5_asr"
_LOOK_AHEADS = {STREAMING: (13, 6, 1, 0), PROMPTED: (13, 6, 3, 1, 0)}
"""Look-aheads of the published checkpoints, for folders that state none."""
_FEATURES = {
    "sampling_rate": SAMPLE_RATE,
    "hop_length": 160,
    "n_fft": 512,
    "win_length": 400,
    "preemphasis": 0.97,
    "mel_filters_dtype": "float32",
}
_ENCODER = {
    "subsampling_factor": SUBSAMPLING,
    "subsampling_conv_kernel_size": 3,
    "subsampling_conv_stride": 2,
    "hidden_act": "silu",
}


def read_hugging_face_asr(directory: Path) -> AsrCheckpoint:
    """Read a folder with ``config.json``, ``tokenizer.json`` and weights.

    Raises:
        CheckpointError: the folder is incomplete, or holds another network.
        DataError: a file is no text.
    """
    config = _json(directory / "config.json")
    kind = config.get("model_type")
    if kind not in _LOOK_AHEADS:
        raise CheckpointError(f"{directory} holds {kind!r}: {STREAMING} and {PROMPTED} are served")
    processor = _json(directory / "processor_config.json", needed=False)
    features = processor.get("feature_extractor") or _json(directory / "preprocessor_config.json", needed=False)
    encoder = config.get("encoder_config")
    if not isinstance(encoder, dict) or not isinstance(features, dict):
        raise CheckpointError(f"{directory}/config.json has no encoder_config: save the model again")
    _check(directory, features, _FEATURES)
    _check(directory, encoder, _ENCODER)
    _check(directory, config, {"hidden_act": "relu"})
    pieces = _pieces(directory, config)
    names = {
        "num_mel_bins": 80,
        "num_hidden_layers": 24,
        "hidden_size": 1024,
        "num_attention_heads": 8,
        "subsampling_conv_channels": 256,
        "conv_kernel_size": 9,
        "intermediate_size": 4096,
        "sliding_window": 71,
    }
    sizes = {name: encoder.get(name, default) for name, default in names.items()}
    decoder = {
        "num_decoder_layers": config.get("num_decoder_layers", 2),
        "decoder_hidden_size": config.get("decoder_hidden_size", 640),
    }
    prompts = config.get("num_prompts", 128) if kind == PROMPTED else 0
    check_sizes(str(directory), sizes | decoder | ({"num_prompts": prompts} if prompts else {}))
    mels, layers, width, heads, channels, kernel, inner, window = sizes.values()
    look_aheads = processor.get("supported_num_lookahead_tokens") or _LOOK_AHEADS[kind]
    return AsrCheckpoint(
        name=str(directory),
        kind=kind,
        shape=Shape(
            mel_bins=mels,
            layers=layers,
            width=width,
            heads=heads,
            channels=channels,
            kernel=kernel,
            left_frames=window - 1,
            look_ahead_frames=look_aheads[0],
            pieces=len(pieces),
            predictor_layers=decoder["num_decoder_layers"],
            predictor_width=decoder["decoder_hidden_size"],
            max_symbols=int(config.get("max_symbols_per_step", 10)),
            prompts=prompts,
        ),
        look_aheads=tuple(look_aheads),
        inner=inner,
        joint=decoder["decoder_hidden_size"],
        scales=bool(encoder.get("scale_input", True)),
        weights={
            f"encoder.{name}" if name.startswith("prompt_projector.") else name: tensor
            for name, tensor in read_state(directory).items()
        },
        pieces=pieces,
        licence=str(config.get("license") or "not stated in the folder"),
        files=digests(path for path in directory.iterdir() if path.suffix in {".safetensors", ".bin"}),
        prompt_inner=int(config.get("prompt_intermediate_size", 2048)) if prompts else 0,
        languages=_languages(processor, prompts),
        default_prompt=int(config.get("default_prompt_id", 101)) if prompts else 0,
    )


def _languages(processor: dict[str, Any], prompts: int) -> dict[str, int]:
    if not prompts:
        return {}
    stated = processor.get("prompt_dictionary")
    if not isinstance(stated, dict):
        from transformers.models.nemotron3_5_asr.processing_nemotron3_5_asr import (  # noqa: PLC0415 - of these alone
            DEFAULT_PROMPT_DICTIONARY,
        )

        stated = DEFAULT_PROMPT_DICTIONARY
    return {str(language): int(prompt) for language, prompt in stated.items() if 0 <= int(prompt) < prompts}


def _check(directory: Path, found: dict[str, Any], served: dict[str, object]) -> None:
    for key, value in served.items():
        if found.get(key, value) != value:
            raise CheckpointError(
                f"{directory} has {key}: {found[key]!r}; only {value} is served: take another checkpoint"
            )


def _pieces(directory: Path, config: dict[str, Any]) -> tuple[str, ...]:
    path = directory / "tokenizer.json"
    if not path.is_file():
        raise CheckpointError(f"{directory} lacks tokenizer.json: save the tokenizer beside the model")
    try:
        known = Tokenizer.from_file(str(path)).get_vocab(with_added_tokens=True)
    except Exception as error:  # tokenizers raises plain Exception
        raise CheckpointError(f"{path} is no tokenizer ({error}): get it again") from error
    count, blank = config.get("vocab_size"), config.get("blank_token_id")
    if not isinstance(count, int) or blank != count - 1:
        raise CheckpointError(
            f"{directory} has blank_token_id {blank!r} and vocab_size {count!r}: the blank comes last"
        )
    spelled = {token: piece for piece, token in known.items()}
    missing = next((token for token in range(count - 1) if token not in spelled), None)
    if missing is not None:
        raise CheckpointError(f"{path} does not say what token {missing} spells: get the tokenizer of this network")
    return tuple(spelled[token] for token in range(count - 1))


def _json(path: Path, *, needed: bool = True) -> dict[str, Any]:
    if not path.is_file() and not needed:
        return {}
    if not path.is_file():
        raise CheckpointError(f"{path.parent} lacks {path.name}: give the folder that save_pretrained wrote")
    try:
        value = json.loads(read_text(path))
    except ValueError as error:
        raise CheckpointError(f"{path} is no JSON ({error}): get it again") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds no JSON object: get it again")
    return value
