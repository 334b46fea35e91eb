"""Builds the three ONNX graphs that the engine runs from Moonshine's weights.

The graphs that come with Moonshine cannot be served in batches: they normalize the padding of a short
recording together with its sound (GroupNorm over all frames), quantize activations with one scale for the whole batch, so
that a row's result depends on its neighbours, and give the decoder no mask for rows of different
lengths. They also spend more time on shape arithmetic than on the model. These graphs hold the same
weights, bit for bit, and

* take each row's own length and statistics: padding enters neither the normalization nor the attention;
* split off the front end, whose results for the beginning of an utterance can be kept when more of it arrives;
* quantize each activation row (one frame or one token) with a scale of its own, so that a row is computed alike in every batch;
* keep each decoder row's own length (``GroupQueryAttention``), write keys and values in place, and return
  token ids rather than logits;
* compute the keys and values of the cross attention once, at the end of the encoder.

Architecture: Jeffries et al. 2024, "Moonshine: Speech Recognition for Live Transcription and Voice
Commands". Operators of the domain ``com.microsoft`` are documented in onnxruntime's ``ContribOperators.md``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper

from modelkit.moonshine_weights import (
    LAYERS,
    OrtWeights,
    QuantizedMatrix,
    join,
    pad_head_inputs,
    pad_head_outputs,
)

HEADS = 8
HEAD_SIZE = 36
CACHE_HEAD_SIZE = 48
"""GroupQueryAttention wants a multiple of 16: heads of the decoder's self attention are padded with zeros."""
FEATURES = 576
"""Channels of the second convolution."""
ROTARY_SIZE = 32
MAX_POSITIONS = 2048
"""Rows of the rotary tables: 2,048 encoder frames are 49 s."""
CONVOLUTIONS = ((127, 64), (7, 3), (3, 2))
"""Kernel and stride of the three convolutions of the front end, none of them padded."""

CANDIDATES = 8
"""Tokens whose logits are computed exactly."""

_EPSILON = 1e-5
_CONTRIB = "com.microsoft"
_ATTENTION_SCALE = HEAD_SIZE**-0.5


class GraphBuilder:
    """Collects nodes and initializers; every method returns the name of the value that it adds."""

    def __init__(self) -> None:
        self._nodes: list[object] = []
        self._initializers: dict[str, NDArray[np.generic]] = {}
        self._ids = itertools.count()

    def constant(self, value: NDArray[np.generic], name: str | None = None) -> str:
        """Adds an initializer."""
        name = name or f"constant_{next(self._ids)}"
        self._initializers[name] = np.ascontiguousarray(value) if value.ndim else value
        return name

    def floats(self, *values: float) -> str:
        """Adds a float32 scalar, or a vector of several."""
        return self.constant(np.array(values if len(values) > 1 else values[0], np.float32))

    def ints(self, *values: int) -> str:
        """Adds an int64 vector."""
        return self.constant(np.array(values, np.int64))

    def op(self, kind: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: object) -> str:
        """Adds a node with one output."""
        output = output or f"{kind}_{next(self._ids)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def ops(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: object) -> None:
        """Adds a node with several outputs."""
        self._nodes.append(helper.make_node(kind, list(inputs), list(outputs), domain=domain, **attributes))

    def split(self, value: str, parts: int, axis: int = -1) -> list[str]:
        """Splits ``value`` into equal parts."""
        outputs = [f"Split_{next(self._ids)}" for _ in range(parts)]
        self.ops("Split", [value], outputs, axis=axis, num_outputs=parts)
        return outputs

    def layer_norm(self, value: str, weight: NDArray[np.float32]) -> str:
        """Normalizes the last axis; Moonshine's layers have no bias."""
        return self.op("LayerNormalization", value, self.constant(weight), axis=-1, epsilon=_EPSILON)

    def linear(self, value: str, matrix: QuantizedMatrix) -> str:
        """Multiplies with a matrix and adds its bias, all in float32."""
        weight = (matrix.weight.astype(np.float32) - matrix.zero_point) * matrix.scale
        product = self.op("MatMul", value, self.constant(weight))
        return self.op("Add", product, self.constant(matrix.bias)) if matrix.bias.any() else product

    def quantized_linear(self, value: str, matrix: QuantizedMatrix) -> str:
        """Multiplies approximately: in integers, each row (last axis) quantized by its own largest magnitude."""
        step, middle = self.constant(np.array(1 / 127, np.float32)), self.constant(np.array(128, np.uint8))
        largest = self.op("ReduceMax", self.op("Abs", value), self.ints(-1), keepdims=1)
        largest = self.op("Max", largest, self.floats(1e-12))
        rows = self.op("QuantizeLinear", self.op("Div", value, largest), step, middle)
        weight, scale, zero_point = (self.constant(v) for v in (matrix.weight, matrix.scale, matrix.zero_point))
        product = self.op("MatMulIntegerToFloat", rows, weight, step, scale, middle, zero_point, domain=_CONTRIB)
        return self.op("Mul", product, largest)

    def model(self, name: str, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> ModelProto:
        """Returns the checked model."""
        initializers = [numpy_helper.from_array(value, key) for key, value in self._initializers.items()]
        graph = helper.make_graph(self._nodes, name, list(inputs), list(outputs), initializers)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="vivavoce")
        checker.check_model(model)
        return model


def build_front_end(weights: OrtWeights) -> ModelProto:
    """Builds audio → features: the first two convolutions, without the normalization between them.

    GroupNorm scales and shifts all its frames alike, and a convolution is linear: ``conv(norm(x))`` is ``conv(x)``, scaled and
    shifted. So the second convolution can run before the statistics are known, and what it returned for the beginning of an
    utterance stays valid when more audio arrives. The encoder applies the statistics.

    Input: ``audio`` float32 ``[batch, samples]``. Outputs: ``features`` float32 ``[batch, 576, frames]``; ``sums`` and ``square_sums``
    float32 ``[batch, first_frames]``, of each frame that the first convolution returned.
    """
    graph = GraphBuilder()
    first = graph.constant(weights.tensor("conv1.weight_add_tensor"))
    audio = graph.op("Unsqueeze", "audio", graph.ints(1))
    hidden = graph.op("Tanh", graph.op("Conv", audio, first, strides=[CONVOLUTIONS[0][1]]))
    graph.op("ReduceSum", hidden, graph.ints(1), output="sums", keepdims=0)
    graph.op("ReduceSumSquare", hidden, graph.ints(1), output="square_sums", keepdims=0)
    second = graph.constant(_second_convolution(weights)[0])
    graph.op("Conv", hidden, second, output="features", strides=[CONVOLUTIONS[1][1]])
    outputs = [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", FEATURES, "frames"])]
    outputs += [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "first_frames"])
        for name in ("sums", "square_sums")
    ]
    inputs = [helper.make_tensor_value_info("audio", TensorProto.FLOAT, ["batch", "samples"])]
    return graph.model("moonshine_front_end", inputs, outputs)


def _second_convolution(weights: OrtWeights) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Returns the second convolution's kernel and bias with the affine part of the normalization before it folded in."""
    scale, shift = (weights.tensor(name)[:, 0] for name in ("onnx::Mul_2080", "onnx::Add_2081"))
    kernel = weights.tensor("conv2.weight_add_tensor")
    return kernel * scale[None, :, None], weights.tensor("conv2.bias") + np.einsum("ock,c->o", kernel, shift)


def build_encoder(encoder: OrtWeights, decoder: OrtWeights) -> ModelProto:
    """Builds features → keys and values of the decoder's cross attention.

    Inputs: ``features`` float32 ``[batch, 576, frames]`` (anything finite after a row's end), ``feature_counts`` int64
    ``[batch]``, ``means`` and ``deviations`` float32 ``[batch]``: mean and standard deviation over all entries of all frames
    that the first convolution returned for a row.
    Outputs: ``cross_key_0 … cross_value_5`` float32 ``[batch, 8, frames, 36]`` and ``frame_mask`` int32 ``[batch, frames]``.
    """
    graph = GraphBuilder()
    hidden, mask = _last_convolution(graph, encoder)
    positions = graph.ints(0)
    tables = _rotary_tables(graph, encoder.tensor("onnx::Expand_202"))
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
    return graph.model("moonshine_encoder", inputs, [*_cross_attention_values(), mask_value])


def _last_convolution(graph: GraphBuilder, weights: OrtWeights) -> tuple[str, str]:
    """Normalizes the features and adds the third convolution.

    Returns the frames ``[batch, frames, 288]`` and their mask ``[batch, frames]``. No convolution is padded, so a frame inside a
    row's own length never touches what comes after the row's end.
    """
    kernel, bias = _second_convolution(weights)
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
    graph: GraphBuilder, weights: OrtWeights, layer: int, hidden: str, mask: str, positions: str, tables: tuple[str, str]
) -> str:
    prefix, norms = f"/layers.{layer}", f"layers.{layer}"
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.input_layernorm.weight"))
    projections = join(*(weights.matrix(f"{prefix}/self_attn/{x}_proj/MatMul_output_0") for x in "qkv"))
    query, key, value = graph.split(graph.linear(normed, projections), 3)
    query, key = (_rotate(graph, x, positions, tables) for x in (query, key))
    mixed = graph.op(
        "MultiHeadAttention", query, key, value, "", mask, domain=_CONTRIB, num_heads=HEADS, scale=_ATTENTION_SCALE
    )
    output = weights.matrix(f"{prefix}/self_attn/o_proj/MatMul_output_0")
    hidden = graph.op("Add", hidden, graph.linear(mixed, output))
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.post_attention_layernorm.weight"))
    inner = graph.linear(normed, weights.matrix(f"{prefix}/mlp/fc1/Add_output_0"))
    inner = graph.op("Gelu", inner)
    return graph.op("Add", hidden, graph.linear(inner, weights.matrix(f"{prefix}/mlp/fc2/Add_output_0")))


def _rotary_tables(graph: GraphBuilder, inverse_frequencies: NDArray[np.float32]) -> tuple[str, str]:
    angles = np.arange(MAX_POSITIONS, dtype=np.float64)[:, None] * inverse_frequencies.reshape(1, -1)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return graph.constant(cosines, "rotary_cosines"), graph.constant(sines, "rotary_sines")


def _rotate(graph: GraphBuilder, value: str, positions: str, tables: tuple[str, str]) -> str:
    """Adds rotary position embedding of the first 32 entries of each head, neighbouring entries paired."""
    return graph.op(
        "RotaryEmbedding", value, positions, *tables,
        domain=_CONTRIB, interleaved=1, num_heads=HEADS, rotary_embedding_dim=ROTARY_SIZE,
    )  # fmt: skip


def _cross_keys_and_values(graph: GraphBuilder, hidden: str, decoder: OrtWeights) -> None:
    shape = graph.ints(0, 0, HEADS, HEAD_SIZE)
    for layer, kind in itertools.product(range(LAYERS), ("key", "value")):
        matrix = decoder.matrix(f"/model/decoder/layers.{layer}/encoder_attn/{kind[0]}_proj/MatMul_output_0")
        heads = graph.op("Reshape", graph.linear(hidden, matrix), shape)
        graph.op("Transpose", heads, output=f"cross_{kind}_{layer}", perm=[0, 2, 1, 3])


def _cross_attention_values() -> list[ValueInfoProto]:
    return [
        helper.make_tensor_value_info(f"cross_{kind}_{layer}", TensorProto.FLOAT, ["batch", HEADS, "frames", HEAD_SIZE])
        for layer, kind in itertools.product(range(LAYERS), ("key", "value"))
    ]


def _cache_values(prefix: str) -> list[ValueInfoProto]:
    shape = ["batch", HEADS, "capacity", CACHE_HEAD_SIZE]
    return [
        helper.make_tensor_value_info(f"{prefix}_{kind}_{layer}", TensorProto.FLOAT, shape)
        for layer, kind in itertools.product(range(LAYERS), ("key", "value"))
    ]


def build_decoder(weights: OrtWeights) -> ModelProto:
    """Builds tokens → the most probable next token after each of them.

    Inputs: ``tokens`` int64 ``[batch, steps]``; ``last_positions`` int32 ``[batch]`` (position of each row's last token);
    ``total_length`` int32 scalar (the longest row, ``max(last_positions) + 1``); ``frame_mask`` and ``cross_*`` as the
    encoder returns them; ``past_key_0 … past_value_5`` float32 ``[batch, 8, capacity, 48]``.
    Outputs: ``next_tokens`` int64 ``[batch, steps]``; ``present_*``, to be bound to the buffers of ``past_*``.
    When ``steps == total_length`` the rows begin here (shorter rows are padded on the right); otherwise ``steps`` is 1.
    """
    graph = GraphBuilder()
    tables = _rotary_tables(graph, weights.tensor("onnx::Expand_248"))
    hidden = _embed(graph, "tokens", weights.matrix("logits"))
    for layer in range(LAYERS):
        hidden = _decoder_layer(graph, weights, layer, hidden, tables)
    hidden = graph.layer_norm(hidden, weights.tensor("model.decoder.norm.weight_merged_0"))
    _most_probable(graph, hidden, weights.matrix("logits"))
    inputs = [
        helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "steps"]),
        helper.make_tensor_value_info("last_positions", TensorProto.INT32, ["batch"]),
        helper.make_tensor_value_info("total_length", TensorProto.INT32, []),
        helper.make_tensor_value_info("frame_mask", TensorProto.INT32, ["batch", "frames"]),
        *_cross_attention_values(),
        *_cache_values("past"),
    ]
    outputs = [helper.make_tensor_value_info("next_tokens", TensorProto.INT64, ["batch", "steps"]), *_cache_values("present")]
    return graph.model("moonshine_decoder", inputs, outputs)


def _embed(graph: GraphBuilder, tokens: str, matrix: QuantizedMatrix) -> str:
    """Looks up embeddings, float32 ``[*tokens, 288]``; Moonshine's are the columns of its output matrix."""
    gathered = graph.op("Gather", graph.constant(matrix.weight.T, "embeddings"), tokens, axis=0)
    scale, zero_point = graph.constant(matrix.scale[0]), graph.constant(matrix.zero_point[0])
    return graph.op("DequantizeLinear", gathered, scale, zero_point)


def _most_probable(graph: GraphBuilder, hidden: str, matrix: QuantizedMatrix) -> None:
    """Adds the choice of the next token: candidates by integer arithmetic, then the best of them in float32.

    The matrix has 32,768 columns; at one row a step reading it costs more than anything else, and integers read a quarter.
    """
    candidates = f"candidates_{CANDIDATES}"
    logits = graph.quantized_linear(hidden, matrix)
    graph.ops("TopK", [logits, graph.ints(CANDIDATES)], ["approximate_logits", candidates], axis=-1)
    exact = graph.op("MatMul", _embed(graph, candidates, matrix), graph.op("Unsqueeze", hidden, graph.ints(-1)))
    best = graph.op("ArgMax", exact, axis=-2, keepdims=0)
    graph.op("Squeeze", graph.op("GatherElements", candidates, best, axis=-1), graph.ints(-1), output="next_tokens")


def _decoder_layer(
    graph: GraphBuilder, weights: OrtWeights, layer: int, hidden: str, tables: tuple[str, str]
) -> str:
    prefix, norms = f"/model/decoder/layers.{layer}", f"model.decoder.layers.{layer}"
    # Self attention.
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.input_layernorm.weight_merged_0"))
    projections = [weights.matrix(f"{prefix}/self_attn/{x}_proj/MatMul_output_0") for x in "qkv"]
    padded = join(*(pad_head_outputs(matrix, HEADS, CACHE_HEAD_SIZE) for matrix in projections))
    packed = graph.linear(normed, padded)
    mixed = f"self_attention_{layer}"
    graph.ops(
        "GroupQueryAttention",
        [packed, "", "", f"past_key_{layer}", f"past_value_{layer}", "last_positions", "total_length", *tables],
        [mixed, f"present_key_{layer}", f"present_value_{layer}"],
        domain=_CONTRIB, num_heads=HEADS, kv_num_heads=HEADS, scale=_ATTENTION_SCALE, do_rotary=1, rotary_interleaved=1,
    )  # fmt: skip
    output = pad_head_inputs(weights.matrix(f"{prefix}/self_attn/o_proj/MatMul_output_0"), HEADS, CACHE_HEAD_SIZE)
    hidden = graph.op("Add", hidden, graph.linear(mixed, output))
    # Cross attention.
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.post_attention_layernorm.weight_merged_0"))
    query = graph.linear(normed, weights.matrix(f"{prefix}/encoder_attn/q_proj/MatMul_output_0"))
    mixed = graph.op(
        "MultiHeadAttention", query, f"cross_key_{layer}", f"cross_value_{layer}", "", "frame_mask",
        domain=_CONTRIB, num_heads=HEADS, scale=_ATTENTION_SCALE,
    )  # fmt: skip
    output = weights.matrix(f"{prefix}/encoder_attn/o_proj/MatMul_output_0")
    hidden = graph.op("Add", hidden, graph.linear(mixed, output))
    # SwiGLU: the second half of the inner layer gates the first.
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.final_layernorm.weight_merged_0"))
    inner = graph.linear(normed, weights.matrix(f"{prefix}/mlp/fc1/Add_output_0"))
    value, gate = graph.split(inner, 2)
    gated = graph.op("Mul", graph.op("QuickGelu", gate, domain=_CONTRIB, alpha=1.0), value)
    output = weights.matrix(f"{prefix}/mlp/fc2/Add_output_0")
    return graph.op("Add", hidden, graph.linear(gated, output))
