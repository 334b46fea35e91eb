"""ONNX graphs of a network: as traced, and with its attention, normalizations and activations fused."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING

import torch
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import nn
    from transformers import BertConfig

OPSET = 17


def trace(network: nn.Module, target: Path, inputs: Sequence[str], outputs: Mapping[str, bool]) -> None:
    """Writes a network with a BERT ``encoder`` as float32 ONNX, operator by operator.

    Args:
        network: takes ``inputs``, each ``[rows, tokens]`` int64, in that order.
        target: is written.
        inputs: their names.
        outputs: name of each output, and whether it has one value or vector a token.
    """
    network = copy.deepcopy(network).eval()
    # Of other forms of attention than the plain one the tracer makes a graph that onnxruntime cannot fuse.
    network.encoder.set_attn_implementation("eager")  # type: ignore[operator, union-attr]
    ids = torch.randint(0, network.encoder.config.vocab_size, (2, 9))  # type: ignore[union-attr, arg-type]
    example = tuple(torch.ones_like(ids) if name == "attention_mask" else ids % 2 for name in inputs[1:])
    both = {0: "rows", 1: "tokens"}
    axes = dict.fromkeys(inputs, both) | {n: both if token else {0: "rows"} for n, token in outputs.items()}
    with warnings.catch_warnings():
        # The tracing exporter is deprecated, but of the newer one's graph onnxruntime fuses no attention.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (ids, *example),
            target,
            dynamo=False,
            opset_version=OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
        )


def fuse(source: Path, target: Path, config: BertConfig) -> None:
    """Fuses a traced graph as onnxruntime does for BERT.

    Raises:
        RuntimeError: not every layer's attention was recognized.
    """
    fused = optimizer.optimize_model(
        str(source),
        model_type="bert",
        num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        opt_level=1,
        optimization_options=FusionOptions("bert"),
    )
    count = fused.get_fused_operator_statistics()["Attention"]
    if count != config.num_hidden_layers:
        raise RuntimeError(f"only {count} of {config.num_hidden_layers} attention layers were fused: see the exporter")
    fused.save_model_to_file(str(target))
