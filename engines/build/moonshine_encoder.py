"""Builds the ONNX graphs of Moonshine's front end and encoder from its weights.

The graphs that come with Moonshine cannot be served in batches: they normalize the padding of a short recording
together with its sound (GroupNorm over all frames), quantize activations with one scale for the whole
batch, so that a row's result depends on its neighbours, and give the decoder no mask for rows of
different lengths. They also spend much of their time on shape arithmetic. The graphs built
here hold the same weights, and

* take each row's own length and statistics: padding enters neither the normalization nor the attention;
* split off the front end, whose results for the beginning of an utterance stay valid when more of it arrives;
* compute with float32 activations. With activations in eight bits, rounding turns differences of 1e-7 (another batch
  size means another order of summation) into differences of one step, and 12 of 373 recordings had another
  text in a batch than alone; with float32 none. It costs a tenth of the encoder's time;
* compute the keys and values of the decoder's cross attention once, at the end of the encoder.

Architecture: Jeffries et al. 2024, "Moonshine: Speech Recognition for Live Transcription and Voice Commands".
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from onnx import ModelProto, TensorProto, helper

from engines.build.moonshine_graph import (
    ATTENTION_SCALE,
    CONTRIB,
    HEAD_SIZE,
    HEADS,
    GraphBuilder,
    cross_attention_values,
    rotary_tables,
)
from engines.build.moonshine_weights import LAYERS, OrtWeights, join

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEATURES = 576
"""Channels of the second convolution."""
ROTARY_SIZE = 32
CONVOLUTIONS = ((127, 64), (7, 3), (3, 2))
"""Kernel and stride of the three convolutions of the front end, none of them padded."""


def build_front_end(weights: OrtWeights) -> ModelProto:
    """Builds audio → features: the first two convolutions, without the normalization between them.

    GroupNorm scales and shifts all its frames alike, and a convolution is linear: ``conv(norm(x))`` is ``conv(x)``,
    scaled and shifted. So the second convolution can run before the statistics are known, and what it returned for
    the beginning of an utterance stays valid when more audio arrives. The encoder applies the statistics.

    Input: ``audio`` float32 ``[batch, samples]``. Outputs: ``features`` float32 ``[batch, 576, frames]``; ``sums``
    and ``square_sums`` float32 ``[batch, first_frames]``, of each frame that the first convolution returned.
    """
    graph = GraphBuilder()
    first = graph.constant(weights.tensor("conv1.weight_add_tensor"))
    audio = graph.op("Unsqueeze", "audio", graph.ints(1))
    hidden = graph.op("Tanh", graph.op("Conv", audio, first, strides=[CONVOLUTIONS[0][1]]))
    graph.op("ReduceSum", hidden, graph.ints(1), output="sums", keepdims=0)
    graph.op("ReduceSumSquare", hidden, graph.ints(1), output="square_sums", keepdims=0)
    second = graph.constant(second_convolution(weights)[0])
    graph.op("Conv", hidden, second, output="features", strides=[CONVOLUTIONS[1][1]])
    outputs = [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", FEATURES, "frames"])]
    outputs += [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "first_frames"])
        for name in ("sums", "square_sums")
    ]
    inputs = [helper.make_tensor_value_info("audio", TensorProto.FLOAT, ["batch", "samples"])]
    return graph.model("moonshine_front_end", inputs, outputs)


def second_convolution(weights: OrtWeights) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Returns the second convolution's kernel and bias; the normalization's affine part is folded into them."""
    scale, shift = (weights.tensor(name)[:, 0] for name in ("onnx::Mul_2080", "onnx::Add_2081"))
    kernel = weights.tensor("conv2.weight_add_tensor")
    return kernel * scale[None, :, None], weights.tensor("conv2.bias") + np.einsum("ock,c->o", kernel, shift)


def build_encoder(encoder: OrtWeights, decoder: OrtWeights) -> ModelProto:
    """Builds features → keys and values of the decoder's cross attention.

    Inputs: ``features`` float32 ``[batch, 576, frames]`` (anything finite after a row's end), ``feature_counts`` int64
    ``[batch]``, ``means`` and ``deviations`` float32 ``[batch]``: mean and standard deviation over all entries of
    all frames that the first convolution returned for a row.
    Outputs: ``cross_key_0 … cross_value_5`` float32 ``[batch, 8, frames, 36]`` and ``frame_mask`` int32 ``[batch,
    frames]``.
    """
    graph = GraphBuilder()
    hidden, mask = _last_convolution(graph, encoder)
    positions = graph.ints(0)
    tables = rotary_tables(graph, encoder.tensor("onnx::Expand_202"))
    for layer in range(LAYERS):
        hidden = _encoder_layer(graph, encoder, layer, hidden, mask, positions, tables)
    _cross_keys_and_values(graph, graph.layer_norm(hidden, encoder.tensor("layer_norm.weight")), decoder)
    inputs = [
        helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", FEATURES, "feature_frames"]),
        helper.make_tensor_value_info("feature_counts", TensorProto.INT64, ["batch"]),
        helper.make_tensor_value_info("means", TensorProto.FLOAT, ["batch"]),
        helper.make_tensor_value_info("deviations", TensorProto.FLOAT, ["batch"]),
    ]
    mask_value = helper.make_tensor_value_info("frame_mask", TensorProto.INT32, ["batch", "frames"])
    return graph.model("moonshine_encoder", inputs, [*cross_attention_values(), mask_value])


def _last_convolution(graph: GraphBuilder, weights: OrtWeights) -> tuple[str, str]:
    """Normalizes the features and adds the third convolution.

    Returns the frames ``[batch, frames, 288]`` and their mask ``[batch, frames]``. No convolution is padded, so a
    frame inside a row's own length never touches what comes after the row's end.
    """
    kernel, bias = second_convolution(weights)
    means, deviations = (graph.op("Unsqueeze", name, graph.ints(1, 2)) for name in ("means", "deviations"))
    scale = graph.op("Reciprocal", deviations)
    shift = graph.op("Mul", graph.op("Mul", means, scale), graph.constant(-kernel.sum(axis=(1, 2))[:, None]))
    shift = graph.op("Add", shift, graph.constant(bias[:, None]))
    hidden = graph.op("Gelu", graph.op("Add", graph.op("Mul", "features", scale), shift))
    third, bias = weights.tensor("conv3.weight_add_tensor"), weights.tensor("conv3.bias")
    width, stride = CONVOLUTIONS[2]
    hidden = graph.op("Conv", hidden, graph.constant(third), graph.constant(bias), strides=[stride])
    hidden = graph.op("Transpose", graph.op("Gelu", hidden), perm=[0, 2, 1])
    counts = graph.op("Div", graph.op("Sub", "feature_counts", graph.ints(width - stride)), graph.ints(stride))
    length = graph.op("Squeeze", graph.op("Shape", hidden, start=1, end=2), graph.ints(0))
    zero, one = (graph.constant(np.array(i, np.int64)) for i in (0, 1))
    mask = graph.op("Less", graph.op("Range", zero, length, one), graph.op("Unsqueeze", counts, graph.ints(1)))
    return hidden, graph.op("Cast", mask, output="frame_mask", to=TensorProto.INT32)


def _encoder_layer(
    graph: GraphBuilder,
    weights: OrtWeights,
    layer: int,
    hidden: str,
    mask: str,
    positions: str,
    tables: tuple[str, str],
) -> str:
    prefix, norms = f"/layers.{layer}", f"layers.{layer}"
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.input_layernorm.weight"))
    projections = join(*(weights.matrix(f"{prefix}/self_attn/{x}_proj/MatMul_output_0") for x in "qkv"))
    query, key, value = graph.split(graph.linear(normed, projections), 3)
    query, key = (_rotate(graph, x, positions, tables) for x in (query, key))
    mixed = graph.op(
        "MultiHeadAttention", query, key, value, "", mask, domain=CONTRIB, num_heads=HEADS, scale=ATTENTION_SCALE
    )
    output = weights.matrix(f"{prefix}/self_attn/o_proj/MatMul_output_0")
    hidden = graph.op("Add", hidden, graph.linear(mixed, output))
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.post_attention_layernorm.weight"))
    inner = graph.linear(normed, weights.matrix(f"{prefix}/mlp/fc1/Add_output_0"))
    inner = graph.op("Gelu", inner)
    return graph.op("Add", hidden, graph.linear(inner, weights.matrix(f"{prefix}/mlp/fc2/Add_output_0")))


def _rotate(graph: GraphBuilder, value: str, positions: str, tables: tuple[str, str]) -> str:
    """Adds rotary position embedding of the first 32 entries of each head, neighbouring entries paired."""
    return graph.op(
        "RotaryEmbedding", value, positions, *tables,
        domain=CONTRIB, interleaved=1, num_heads=HEADS, rotary_embedding_dim=ROTARY_SIZE,
    )  # fmt: skip


def _cross_keys_and_values(graph: GraphBuilder, hidden: str, decoder: OrtWeights) -> None:
    shape = graph.ints(0, 0, HEADS, HEAD_SIZE)
    for layer, kind in itertools.product(range(LAYERS), ("key", "value")):
        matrix = decoder.matrix(f"/model/decoder/layers.{layer}/encoder_attn/{kind[0]}_proj/MatMul_output_0")
        heads = graph.op("Reshape", graph.linear(hidden, matrix), shape)
        graph.op("Transpose", heads, output=f"cross_{kind}_{layer}", perm=[0, 2, 1, 3])
