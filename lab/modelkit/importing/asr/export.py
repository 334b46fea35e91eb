"""Exports a streaming recognizer to ONNX graphs of one chunk."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

import onnx
import torch

from engines.asr.fastconformer.names import CTC_HEAD, ENCODER, INPUTS, JOINT, OUTPUTS, PREDICTOR, PROMPT
from modelkit.importing.asr.row_quantization import quantize_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import nn

    from engines.asr.fastconformer.shape import Shape
    from modelkit.importing.asr.checkpoint import Networks

Precision = Literal["float32", "int8"]

_OPSET = 17


def export(networks: Networks, shape: Shape, directory: Path, precision: Precision) -> None:
    """Write the graphs of a recognizer into ``directory``."""
    rows = 2
    subsampled = {name: torch.zeros(rows, *sizes) for name, sizes in shape.subsampled().items()}
    cached = {
        f"{name}_{layer}": torch.zeros(rows, *sizes)
        for layer in range(shape.layers)
        for name, sizes in shape.cached().items()
    }
    chunk = {
        "mels": torch.zeros(rows, shape.chunk_mels, shape.mel_bins),
        "keep1": torch.ones(rows, shape.chunk_mels // 2),
        "keep2": torch.ones(rows, shape.chunk_mels // 4),
        "bias": torch.zeros(rows, shape.left_frames + shape.chunk_frames),
    }
    prompt = {PROMPT: torch.zeros(rows, shape.prompts)} if shape.prompts else {}
    arguments = chunk | subsampled | cached | prompt
    assert tuple(arguments)[: len(INPUTS)] == INPUTS
    encoder = directory / ENCODER
    _export(networks.encoder, tuple(arguments.values()), encoder, tuple(arguments), OUTPUTS, layered=OUTPUTS[-3:])
    if precision == "int8":
        model = onnx.load(encoder)
        quantize_rows(model)
        onnx.save(model, encoder)
    if networks.predictor is not None and networks.joint is not None:
        cells = torch.zeros(rows, shape.predictor_layers, shape.predictor_width)
        _export(
            networks.predictor,
            (torch.zeros(rows, dtype=torch.int64), cells, cells),
            directory / PREDICTOR,
            ("tokens", "hidden", "cell"),
            ("predicted", "hidden_next", "cell_next"),
        )
        predicted = torch.zeros(rows, networks.joint.encoder_projector.out_features)
        _export(
            networks.joint,
            (torch.zeros(rows, shape.width), predicted),
            directory / JOINT,
            ("encoded", "predicted"),
            ("logits",),
        )
    if networks.ctc is not None:
        encoded = torch.zeros(rows, shape.width)
        _export(networks.ctc, (encoded,), directory / CTC_HEAD, ("encoded",), ("log_probabilities",))


def _export(
    module: nn.Module,
    arguments: tuple[torch.Tensor, ...],
    path: Path,
    inputs: Sequence[str],
    outputs: Sequence[str],
    layered: Sequence[str] = (),
) -> None:
    """Export a network; rows come first everywhere but in ``layered``, where layers come before them."""
    with torch.inference_mode(), warnings.catch_warnings():
        # The tracer that unrolls layers and folds constants is older than the one that torch recommends.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            arguments,
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={name: {int(name in layered): "rows"} for name in (*inputs, *outputs)},
            opset_version=_OPSET,
            dynamo=False,
        )
