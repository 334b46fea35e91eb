"""Writes trained networks as ONNX, fused for onnxruntime."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

NLU_INPUTS = ("input_ids", "attention_mask")
NLU_OUTPUTS = {"intent_logits": False, "tag_logits": True}
QA_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
QA_OUTPUTS = {"start_logits": True, "end_logits": True}


def export(network: nn.Module, target: Path, inputs: Sequence[str], outputs: dict[str, bool]) -> None:
    """Writes a network with a BERT ``encoder`` as fused float32 ONNX.

    Args:
        network: takes ``inputs``, each ``[rows, tokens]`` int64, in that order.
        target: is written.
        inputs: their names.
        outputs: name of each output, and whether it has one value or vector a token.
    """
    ids = torch.randint(network.encoder.config.vocab_size, (2, 9))
    example = tuple(torch.ones_like(ids) if name == "attention_mask" else ids % 2 for name in inputs[1:])
    both = {0: "rows", 1: "tokens"}
    axes = dict.fromkeys(inputs, both) | {n: both if token else {0: "rows"} for n, token in outputs.items()}
    with TemporaryDirectory() as directory, warnings.catch_warnings():
        # The tracing exporter is deprecated, but of the newer one's graph onnxruntime fuses no attention.
        warnings.simplefilter("ignore")
        plain = Path(directory, "plain.onnx")
        torch.onnx.export(
            network.eval(),
            (ids, *example),
            plain,
            dynamo=False,
            opset_version=17,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
        )
        config = network.encoder.config
        fused = optimizer.optimize_model(
            str(plain),
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
