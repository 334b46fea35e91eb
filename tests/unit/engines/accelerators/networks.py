"""Networks that are shipped, and inputs of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engines.tts.voice import network_path

if TYPE_CHECKING:
    from collections.abc import Iterable

REPOSITORY = Path(__file__).parents[4] / "model_repository"
BERTS = {
    name: REPOSITORY / path
    for name, path in {
        "intent_slot_bert": "intent_slot_bert/1/model.int8.onnx",
        "qa_bert": "qa_bert/1/model.int8.onnx",
        "punctuation": "punctuation/1/model.int8.onnx",
        "embed": "embed/1/minilm/model.int8.onnx",
        "end_of_turn": "end_of_turn/1/words.int8.onnx",
    }.items()
}
ENCODER = REPOSITORY / "asr/1/moonshine-tiny-en/encoder.onnx"
DECODER = REPOSITORY / "asr/1/moonshine-tiny-en/decoder.onnx"
VOICE = network_path()


def tokens(names: Iterable[str], rows: int = 3, length: int = 24) -> dict[str, np.ndarray]:
    """Makes rows of several lengths, padded on the right."""
    rng = np.random.default_rng(1)
    mask = (np.arange(length) < np.linspace(length, length // 2, rows).astype(int)[:, None]).astype(np.int64)
    inputs = {
        "input_ids": rng.integers(200, 4_000, (rows, length)) * mask,
        "attention_mask": mask,
        "token_type_ids": (np.arange(length) > 8) * mask,
    }
    return {name: inputs[name] for name in names}


def features(frames: int = 80) -> dict[str, np.ndarray]:
    """Makes two utterances for the encoder of recognition, one shorter than the other."""
    return {
        "features": np.random.default_rng(1).standard_normal((2, 576, frames)).astype(np.float32),
        "feature_counts": np.array([frames, frames // 2]),
        "means": np.zeros(2, np.float32),
        "deviations": np.ones(2, np.float32),
    }
