"""Writes Moonshine's weights in the form that a GPU serves: ``python -m engines.build.moonshine --gpu``.

The file holds the published weights as they are, 8 bits an entry, under the names of the layers that they belong to;
``engines.asr.gpu.weights`` reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engines.asr.gpu.names import FORMAT, FORMAT_KEY, MATRIX_PARTS
from engines.build.moonshine_encoder import second_convolution
from engines.build.moonshine_weights import LAYERS, OrtWeights, QuantizedMatrix

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Tensors = dict[str, NDArray[Any]]


def write_network(assets: Path, target: Path) -> None:
    """Writes the weights.

    Args:
        assets: folder of the installed package's files.
        target: file to write.

    Raises:
        WeightsError: a file of the package is not the model that this was written for.
    """
    from safetensors.numpy import save_file  # noqa: PLC0415 - the extra `gpu` brings it, and nothing else needs it

    encoder, decoder = OrtWeights(assets / "encoder_model.ort"), OrtWeights(assets / "decoder_model_merged.ort")
    tensors = {name: np.ascontiguousarray(value) for name, value in network_tensors(encoder, decoder).items()}
    part = target.with_suffix(".new")
    save_file(tensors, part, {FORMAT_KEY: FORMAT})
    # It is written for its owner alone, and another user may run the service.
    part.chmod(0o644)
    part.replace(target)


def network_tensors(encoder: OrtWeights, decoder: OrtWeights) -> Tensors:
    """Returns all weights by the names that ``engines.asr.gpu`` knows them by."""
    kernel, bias = second_convolution(encoder)
    tensors: Tensors = {
        "encoder.conv1.weight": encoder.tensor("conv1.weight_add_tensor"),
        "encoder.conv2.weight": kernel.astype(np.float32),
        "encoder.conv2.bias": bias.astype(np.float32),
        "encoder.conv3.weight": encoder.tensor("conv3.weight_add_tensor"),
        "encoder.conv3.bias": encoder.tensor("conv3.bias"),
        "encoder.norm": encoder.tensor("layer_norm.weight"),
        "encoder.inverse_frequencies": encoder.tensor("onnx::Expand_202").reshape(-1),
        "decoder.norm": decoder.tensor("model.decoder.norm.weight_merged_0"),
        "decoder.inverse_frequencies": decoder.tensor("onnx::Expand_248").reshape(-1),
        **_matrix("decoder.logits", decoder.matrix("logits")),
    }
    for layer in range(LAYERS):
        tensors |= _encoder_layer(encoder, layer) | _decoder_layer(decoder, layer)
    return tensors


def _encoder_layer(weights: OrtWeights, layer: int) -> Tensors:
    source, norms, name = f"/layers.{layer}", f"layers.{layer}", f"encoder.layers.{layer}"
    tensors: Tensors = {
        f"{name}.attention_norm": weights.tensor(f"{norms}.input_layernorm.weight"),
        f"{name}.inner_norm": weights.tensor(f"{norms}.post_attention_layernorm.weight"),
    }
    for part in "qkvo":
        tensors |= _matrix(f"{name}.{part}", weights.matrix(f"{source}/self_attn/{part}_proj/MatMul_output_0"))
    for part in ("fc1", "fc2"):
        tensors |= _matrix(f"{name}.{part}", weights.matrix(f"{source}/mlp/{part}/Add_output_0"))
    return tensors


def _decoder_layer(weights: OrtWeights, layer: int) -> Tensors:
    source, norms, name = f"/model/decoder/layers.{layer}", f"model.decoder.layers.{layer}", f"decoder.layers.{layer}"
    tensors: Tensors = {
        f"{name}.attention_norm": weights.tensor(f"{norms}.input_layernorm.weight_merged_0"),
        f"{name}.cross_norm": weights.tensor(f"{norms}.post_attention_layernorm.weight_merged_0"),
        f"{name}.inner_norm": weights.tensor(f"{norms}.final_layernorm.weight_merged_0"),
    }
    for part in "qkvo":
        tensors |= _matrix(f"{name}.{part}", weights.matrix(f"{source}/self_attn/{part}_proj/MatMul_output_0"))
        cross = weights.matrix(f"{source}/encoder_attn/{part}_proj/MatMul_output_0")
        tensors |= _matrix(f"{name}.cross_{part}", cross)
    for part in ("fc1", "fc2"):
        tensors |= _matrix(f"{name}.{part}", weights.matrix(f"{source}/mlp/{part}/Add_output_0"))
    return tensors


def _matrix(name: str, matrix: QuantizedMatrix) -> Tensors:
    return {f"{name}.{part}": getattr(matrix, part) for part in MATRIX_PARTS}
