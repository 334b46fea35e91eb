"""Builds the ONNX graph of Moonshine's decoder from its weights.

``modelkit.moonshine_encoder`` says why the graphs that come with Moonshine are not used.
"""

from __future__ import annotations

import itertools

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from modelkit.moonshine_graph import (
    ATTENTION_SCALE,
    CONTRIB,
    HEADS,
    GraphBuilder,
    cross_attention_values,
    rotary_tables,
)
from modelkit.moonshine_weights import LAYERS, OrtWeights, QuantizedMatrix, join, pad_head_inputs, pad_head_outputs

CACHE_HEAD_SIZE = 48
"""GroupQueryAttention wants a multiple of 16: heads of the self attention are padded with zeros."""
CANDIDATES = 8
"""Tokens whose logits are computed exactly."""


def _cache_values(prefix: str) -> list[ValueInfoProto]:
    shape = ["batch", HEADS, "capacity", CACHE_HEAD_SIZE]
    return [
        helper.make_tensor_value_info(f"{prefix}_{kind}_{layer}", TensorProto.FLOAT, shape)
        for layer, kind in itertools.product(range(LAYERS), ("key", "value"))
    ]


def build_decoder(weights: OrtWeights) -> ModelProto:
    """Builds tokens → the most probable next token after each of them.

    Inputs: ``tokens`` int64 ``[batch, steps]``; ``last_positions`` int32 ``[batch]`` (position of each row's last
    token); ``total_length`` int32 scalar (the longest row, ``max(last_positions) + 1``); ``frame_mask`` and
    ``cross_*`` as the encoder returns them; ``past_key_0 … past_value_5`` float32 ``[batch, 8, capacity, 48]``.
    Outputs: ``next_tokens`` int64 ``[batch, steps]``; ``present_*``, to be bound to the buffers of ``past_*``.
    When ``steps == total_length`` the rows begin here (shorter rows are padded on the right); otherwise ``steps`` is 1.
    """
    graph = GraphBuilder()
    tables = rotary_tables(graph, weights.tensor("onnx::Expand_248"))
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
        *cross_attention_values(),
        *_cache_values("past"),
    ]
    outputs = [
        helper.make_tensor_value_info("next_tokens", TensorProto.INT64, ["batch", "steps"]),
        *_cache_values("present"),
    ]
    return graph.model("moonshine_decoder", inputs, outputs)


def _embed(graph: GraphBuilder, tokens: str, matrix: QuantizedMatrix) -> str:
    """Looks up embeddings, float32 ``[*tokens, 288]``; Moonshine's are the columns of its output matrix."""
    gathered = graph.op("Gather", graph.constant(matrix.weight.T, "embeddings"), tokens, axis=0)
    scale, zero_point = graph.constant(matrix.scale[0]), graph.constant(matrix.zero_point[0])
    return graph.op("DequantizeLinear", gathered, scale, zero_point)


def _most_probable(graph: GraphBuilder, hidden: str, matrix: QuantizedMatrix) -> None:
    """Adds the choice of the next token: candidates by integer arithmetic, then the best of them in float32.

    The matrix has 32,768 columns; at one row a step reading it costs more than anything else, and integers read a
    quarter.
    """
    candidates = f"candidates_{CANDIDATES}"
    logits = graph.quantized_linear(hidden, matrix)
    graph.ops("TopK", [logits, graph.ints(CANDIDATES)], ["approximate_logits", candidates], axis=-1)
    exact = graph.op("MatMul", _embed(graph, candidates, matrix), graph.op("Unsqueeze", hidden, graph.ints(-1)))
    best = graph.op("ArgMax", exact, axis=-2, keepdims=0)
    graph.op("Squeeze", graph.op("GatherElements", candidates, best, axis=-1), graph.ints(-1), output="next_tokens")


def _decoder_layer(graph: GraphBuilder, weights: OrtWeights, layer: int, hidden: str, tables: tuple[str, str]) -> str:
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
        domain=CONTRIB, num_heads=HEADS, kv_num_heads=HEADS, scale=ATTENTION_SCALE, do_rotary=1, rotary_interleaved=1,
    )  # fmt: skip
    output = pad_head_inputs(weights.matrix(f"{prefix}/self_attn/o_proj/MatMul_output_0"), HEADS, CACHE_HEAD_SIZE)
    hidden = graph.op("Add", hidden, graph.linear(mixed, output))
    # Cross attention.
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.post_attention_layernorm.weight_merged_0"))
    query = graph.linear(normed, weights.matrix(f"{prefix}/encoder_attn/q_proj/MatMul_output_0"))
    mixed = graph.op(
        "MultiHeadAttention", query, f"cross_key_{layer}", f"cross_value_{layer}", "", "frame_mask",
        domain=CONTRIB, num_heads=HEADS, scale=ATTENTION_SCALE,
    )  # fmt: skip
    output = weights.matrix(f"{prefix}/encoder_attn/o_proj/MatMul_output_0")
    hidden = graph.op("Add", hidden, graph.linear(mixed, output))
    # SwiGLU: the second half of the inner layer gates the first.
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.final_layernorm.weight_merged_0"))
    inner = graph.linear(normed, weights.matrix(f"{prefix}/mlp/fc1/Add_output_0"))
    value, gate = graph.split(inner, 2)
    gated = graph.op("Mul", graph.op("QuickGelu", gate, domain=CONTRIB, alpha=1.0), value)
    output = weights.matrix(f"{prefix}/mlp/fc2/Add_output_0")
    return graph.op("Add", hidden, graph.linear(gated, output))
