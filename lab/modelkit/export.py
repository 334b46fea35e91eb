"""Writes networks as float32 ONNX, as they are traced, and fused for onnxruntime."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import onnx
import torch
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

from modelkit.narrowed_graph import drop_idle_units
from modelkit.networks import BERT
from modelkit.pruned_graph import prune_tokens
from modelkit.token_pruning import PrunedSpanNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxruntime.transformers.onnx_model_bert import BertOnnxModel
    from torch import nn
    from transformers import PretrainedConfig

    from modelkit.networks import EncoderNetwork

NLU_INPUTS = ("input_ids", "attention_mask")
NLU_OUTPUTS = {"intent_logits": False, "tag_logits": True}
PUNCTUATION_INPUTS = NLU_INPUTS
PUNCTUATION_OUTPUTS = {"mark_logits": True, "case_logits": True}
QA_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
QA_OUTPUTS = {"start_logits": True, "end_logits": True}
_OPSET = 17


def export(network: EncoderNetwork, target: Path, inputs: Sequence[str], outputs: Mapping[str, bool]) -> None:
    """Writes a network as float32 ONNX, fused as far as onnxruntime knows its architecture.

    Args:
        network: takes ``inputs``, each ``[rows, tokens]`` int64, in that order.
        target: is written.
        inputs: their names.
        outputs: name of each output, and whether it has one value or vector a token.

    Raises:
        RuntimeError: not every layer's attention of a BERT was recognized.
    """
    config = network.encoder.config
    with TemporaryDirectory() as directory:
        plain = Path(directory, "plain.onnx")
        trace(network.unpruned().eval(), plain, inputs, outputs, example(inputs, config.vocab_size))
        fuse_network(plain, target, network)


def example(inputs: Sequence[str], vocabulary: int) -> tuple[torch.Tensor, ...]:
    """Makes inputs to trace a network with: two rows of nine random tokens, int64."""
    ids = torch.randint(0, vocabulary, (2, 9))
    return (ids, *(torch.ones_like(ids) if name == "attention_mask" else ids % 2 for name in inputs[1:]))


def trace(
    network: nn.Module,
    target: Path,
    inputs: Sequence[str],
    outputs: Mapping[str, bool],
    example_inputs: tuple[torch.Tensor, ...],
) -> None:
    """Writes a network as float32 ONNX, operator by operator; rows and tokens may be any number.

    Args:
        network: takes ``inputs``, each ``[rows, tokens]`` int64, in that order; as it is for inference.
        target: is written.
        inputs: their names.
        outputs: name of each output, and whether it has one value or vector a token.
        example_inputs: what it is traced with.
    """
    both = {0: "rows", 1: "tokens"}
    axes = dict.fromkeys(inputs, both) | {name: both if token else {0: "rows"} for name, token in outputs.items()}
    with warnings.catch_warnings():
        # The tracing exporter is deprecated, but of the newer one's graph onnxruntime fuses no attention.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            example_inputs,
            target,
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
        )


def fuse(source: Path, target: Path, config: PretrainedConfig, *, embeddings: bool = True) -> int:
    """Fuses what onnxruntime recognizes of a BERT.

    Args:
        source: a traced graph.
        target: is written.
        config: of the encoder.
        embeddings: whether the embeddings are fused too.

    Returns:
        Number of fused attention layers.
    """
    fused = _fused(source, config, embeddings)
    fused.save_model_to_file(str(target))
    return _fused_attentions(fused)


def fuse_all(source: Path, target: Path, config: PretrainedConfig) -> None:
    """Fuses a traced BERT, as :func:`fuse` does.

    Raises:
        RuntimeError: not every layer's attention was recognized.
    """
    fused = _fused(source, config, embeddings=True)
    count = _fused_attentions(fused)
    if count != config.num_hidden_layers:
        raise RuntimeError(f"only {count} of {config.num_hidden_layers} attention layers were fused: see the exporter")
    fused.save_model_to_file(str(target))


def fuse_network(source: Path, target: Path, network: EncoderNetwork) -> None:
    """Fuses a traced network as far as onnxruntime knows its architecture, without heads and neurons that do nothing.

    A network that is made to drop tokens does so.

    Args:
        source: the graph of ``network.unpruned()``.
        target: is written.
        network: what was traced.

    Raises:
        RuntimeError: not every layer's attention of a BERT was recognized.
    """
    config = network.encoder.config
    # Attention with a bias by distance, as MPNet's, is none that it fuses.
    (fuse_all if config.model_type == BERT else fuse)(source, target, config)
    model = onnx.load(target)
    drop_idle_units(model)
    if isinstance(network, PrunedSpanNetwork):
        prune_tokens(model, network.kept, network.guess_weights(), tuple(QA_OUTPUTS))
    onnx.checker.check_model(model)
    onnx.save(model, target)


def _fused(source: Path, config: PretrainedConfig, embeddings: bool) -> BertOnnxModel:
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = embeddings
    return optimizer.optimize_model(
        str(source),
        model_type="bert",
        num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        opt_level=1,
        optimization_options=options,
    )


def _fused_attentions(model: BertOnnxModel) -> int:
    return int(model.get_fused_operator_statistics()["Attention"])
