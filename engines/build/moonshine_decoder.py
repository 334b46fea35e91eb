"""Builds the ONNX graph of Moonshine's decoder from its weights.

``engines.build.moonshine_encoder`` says why the graphs that come with Moonshine are not used.
"""

from __future__ import annotations

import itertools

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from engines.asr.moonshine.vocabulary import END_TOKEN
from engines.build.moonshine_graph import (
    ATTENTION_SCALE,
    CONTRIB,
    HEAD_SIZE,
    HEADS,
    ApproximateGraphBuilder,
    GraphBuilder,
    cross_attention_values,
    rotary_tables,
)
from engines.build.moonshine_weights import LAYERS, OrtWeights, QuantizedMatrix, join, pad_head_inputs, pad_head_outputs

CACHE_HEAD_SIZE = 48
"""GroupQueryAttention wants a multiple of 16: heads of the self attention are padded with zeros."""
CANDIDATES = 8
"""Tokens whose logits are computed exactly, where only the best token is wanted …"""
SCORED_CANDIDATES = 16
"""… and where candidates are."""


def _cache_values(prefix: str) -> list[ValueInfoProto]:
    shape: list[str | int | None] = ["batch", HEADS, "capacity", CACHE_HEAD_SIZE]
    return [
        helper.make_tensor_value_info(f"{prefix}_{kind}_{layer}", TensorProto.FLOAT, shape)
        for layer, kind in itertools.product(range(LAYERS), ("key", "value"))
    ]


def _predictions(token: str, candidates: str, log_probabilities: str) -> list[ValueInfoProto]:
    return [
        helper.make_tensor_value_info(token, TensorProto.INT64, ["rows", "predictions"]),
        helper.make_tensor_value_info(candidates, TensorProto.INT64, ["rows", "predictions", "candidates"]),
        helper.make_tensor_value_info(log_probabilities, TensorProto.FLOAT, ["rows", "predictions", "candidates"]),
    ]


def _cross_queries() -> list[ValueInfoProto]:
    shape: list[str | int | None] = ["batch", "steps", HEADS * HEAD_SIZE]
    return [helper.make_tensor_value_info(f"cross_query_{layer}", TensorProto.FLOAT, shape) for layer in range(LAYERS)]


def build_decoder(weights: OrtWeights) -> ModelProto:
    """Build the decoder: tokens to the best next token, or to scored candidates.

    Inputs: ``tokens`` int64 ``[batch, steps]``; ``last_positions`` int32 ``[batch]`` (position of each row's last
    token); ``total_length`` int32 scalar (the longest row, ``max(last_positions) + 1``); ``asked`` int64
    ``[batch, asked]`` (which of the steps a prediction is wanted after); ``scored`` bool scalar;
    ``boosted_tokens`` int64 and ``bonuses`` float32 ``[batch, asked, boosted]`` (what to add to the logits of which
    tokens before the best are chosen; a padding of bonus 0 changes nothing); ``frame_mask`` and ``cross_*`` as the
    encoder returns them; ``past_key_0 … past_value_5`` float32 ``[batch, 8, capacity, 48]``. ``cross_*`` may have
    fewer rows than ``tokens``: consecutive rows, equally many, then share one (the beams of an utterance).
    Outputs: unless ``scored``, ``next_tokens`` int64 ``[batch, asked]``; if ``scored``, ``candidates`` int64 and
    ``log_probabilities`` float32 ``[batch, asked, SCORED_CANDIDATES + 1]``, the last of which is the end token, the
    probabilities without the bonuses; what is not wanted is empty and costs nothing. ``cross_query_0 … 5`` float32
    ``[batch, steps, 288]``, the queries of the cross attention, tell which frames each step looked at.
    ``present_*`` are to be bound to the buffers of ``past_*``. When ``steps == total_length`` the rows begin here
    (shorter rows are padded on the right); otherwise ``steps`` is 1.
    """
    graph = GraphBuilder()
    matrix = weights.matrix("logits")
    hidden = _layers(graph, weights, matrix)
    hidden = graph.op("GatherND", hidden, graph.op("Unsqueeze", "asked", graph.ints(-1)), batch_dims=1)
    _predict(graph, hidden, matrix)
    batch_and_asked = ["batch", "asked"]
    inputs = [
        *_rows_and_caches(),
        helper.make_tensor_value_info("asked", TensorProto.INT64, batch_and_asked),
        helper.make_tensor_value_info("scored", TensorProto.BOOL, []),
        helper.make_tensor_value_info("boosted_tokens", TensorProto.INT64, [*batch_and_asked, "boosted"]),
        helper.make_tensor_value_info("bonuses", TensorProto.FLOAT, [*batch_and_asked, "boosted"]),
    ]
    outputs = [
        *_predictions("next_tokens", "candidates", "log_probabilities"),
        *_cross_queries(),
        *_cache_values("present"),
    ]
    return graph.model("moonshine_decoder", inputs, outputs)


def build_draft_decoder(weights: OrtWeights) -> ModelProto:
    """Build the 8-bit decoder: half the time for few rows, and rare errors.

    Inputs: those of :func:`build_decoder` but for ``asked``, ``scored``, ``boosted_tokens`` and ``bonuses``. Outputs:
    ``next_tokens`` int64 ``[batch, steps]``, the most probable token after each; ``present_*``.
    """
    graph = ApproximateGraphBuilder()
    matrix = weights.matrix("logits")
    logits = graph.linear(_layers(graph, weights, matrix), matrix)
    # ArgMax takes three times as long over so many.
    graph.ops("TopK", [logits, graph.ints(1)], ["highest_logits", "best_tokens"], axis=-1)
    graph.op("Squeeze", "best_tokens", graph.ints(-1), output="next_tokens")
    next_tokens = helper.make_tensor_value_info("next_tokens", TensorProto.INT64, ["batch", "steps"])
    return graph.model("moonshine_draft_decoder", _rows_and_caches(), [next_tokens, *_cache_values("present")])


def _rows_and_caches() -> list[ValueInfoProto]:
    return [
        helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "steps"]),
        helper.make_tensor_value_info("last_positions", TensorProto.INT32, ["batch"]),
        helper.make_tensor_value_info("total_length", TensorProto.INT32, []),
        helper.make_tensor_value_info("frame_mask", TensorProto.INT32, ["utterances", "frames"]),
        *cross_attention_values("utterances"),
        *_cache_values("past"),
    ]


def _layers(graph: GraphBuilder, weights: OrtWeights, matrix: QuantizedMatrix) -> str:
    """Add everything from ``tokens`` to logits, float32 ``[batch, steps, 288]``."""
    tables = rotary_tables(graph, weights.tensor("onnx::Expand_248"))
    hidden = _embed(graph, "tokens", matrix)
    for layer in range(LAYERS):
        hidden = _decoder_layer(graph, weights, layer, hidden, tables)
    return graph.layer_norm(hidden, weights.tensor("model.decoder.norm.weight_merged_0"))


def _embed(graph: GraphBuilder, tokens: str, matrix: QuantizedMatrix) -> str:
    """Look up embeddings, float32 ``[*tokens, 288]``: columns of the output matrix."""
    gathered = graph.op("Gather", graph.constant(matrix.weight.T, "embeddings"), tokens, axis=0)
    scale, zero_point = graph.constant(matrix.scale[0]), graph.constant(matrix.zero_point[0])
    return graph.op("DequantizeLinear", gathered, scale, zero_point)


def _predict(graph: GraphBuilder, hidden: str, matrix: QuantizedMatrix) -> None:
    """Add the outputs of ``hidden``, ``[batch, asked, 288]``: tokens or candidates.

    The best tokens are found by integer arithmetic, and their logits computed again in float32. The matrix has 32,768
    columns; at one row a step reading it costs more than anything else, and integers read a quarter.
    """
    logits = graph.quantized_linear(hidden, matrix)
    greedy, scored = ["best_token", "no_candidates", "no_probabilities"], ["no_token", "some", "their_probabilities"]

    def choose() -> None:
        _most_probable(graph, hidden, logits, matrix, greedy[0])
        graph.op("Identity", graph.constant(np.zeros((0, 0, 0), np.int64)), output=greedy[1])
        graph.op("Identity", graph.constant(np.zeros((0, 0, 0), np.float32)), output=greedy[2])

    def score() -> None:
        graph.op("Identity", graph.constant(np.zeros((0, 0), np.int64)), output=scored[0])
        _scored_candidates(graph, hidden, logits, matrix, scored[1], scored[2])

    branches = [graph.branch(score, _predictions(*scored)), graph.branch(choose, _predictions(*greedy))]
    outputs = ["next_tokens", "candidates", "log_probabilities"]
    graph.ops("If", ["scored"], outputs, then_branch=branches[0], else_branch=branches[1])


def _most_probable(graph: GraphBuilder, hidden: str, logits: str, matrix: QuantizedMatrix, output: str) -> None:
    """Add the token with the highest logit."""
    candidates = f"candidates_{CANDIDATES}"
    graph.ops("TopK", [logits, graph.ints(CANDIDATES)], ["approximate_logits", candidates], axis=-1)
    best = graph.op("ArgMax", _exact_logits(graph, hidden, candidates, matrix), axis=-1, keepdims=1)
    graph.op("Squeeze", graph.op("GatherElements", candidates, best, axis=-1), graph.ints(-1), output=output)


def _scored_candidates(
    graph: GraphBuilder, hidden: str, logits: str, matrix: QuantizedMatrix, tokens: str, log_probabilities: str
) -> None:
    """Add the best tokens with bonuses, the end token, and log probabilities.

    The normalizer too takes the candidates' logits from float32: they hold nearly all of the probability.
    """
    biased = graph.op("ScatterElements", logits, "boosted_tokens", "bonuses", axis=-1, reduction="add")
    best = f"candidates_{SCORED_CANDIDATES}"
    graph.ops("TopK", [biased, graph.ints(SCORED_CANDIDATES)], ["biased_logits", best], axis=-1)
    shape = graph.op("Concat", graph.op("Shape", "asked"), graph.ints(1), axis=0)
    end = graph.op("Expand", graph.ints(END_TOKEN), shape)
    graph.op("Concat", best, end, axis=-1, output=tokens)
    exact = _exact_logits(graph, hidden, tokens, matrix)
    mixed = graph.op("ScatterElements", logits, tokens, exact, axis=-1)
    normalizer = graph.op("ReduceLogSumExp", mixed, graph.ints(-1), keepdims=1)
    graph.op("Sub", exact, normalizer, output=log_probabilities)


def _exact_logits(graph: GraphBuilder, hidden: str, tokens: str, matrix: QuantizedMatrix) -> str:
    """Add the logits of ``tokens``, ``[batch, asked, n]``, in float32."""
    column = graph.op("Unsqueeze", hidden, graph.ints(-1))
    return graph.op("Squeeze", graph.op("MatMul", _embed(graph, tokens, matrix), column), graph.ints(-1))


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
    graph.op("Identity", query, output=f"cross_query_{layer}")
    # Rows of one utterance become queries of one row: they share its keys and values.
    utterances = graph.op("Shape", "frame_mask", end=1)
    query_shape = graph.op("Concat", utterances, graph.ints(-1, HEADS * HEAD_SIZE), axis=0)
    shared = graph.op("Reshape", query, query_shape)
    mixed = graph.op(
        "MultiHeadAttention", shared, f"cross_key_{layer}", f"cross_value_{layer}", "", "frame_mask",
        domain=CONTRIB, num_heads=HEADS, scale=ATTENTION_SCALE,
    )  # fmt: skip
    mixed = graph.op("Reshape", mixed, graph.op("Shape", query))
    output = weights.matrix(f"{prefix}/encoder_attn/o_proj/MatMul_output_0")
    hidden = graph.op("Add", hidden, graph.linear(mixed, output))
    # SwiGLU: the second half of the inner layer gates the first.
    normed = graph.layer_norm(hidden, weights.tensor(f"{norms}.final_layernorm.weight_merged_0"))
    inner = graph.linear(normed, weights.matrix(f"{prefix}/mlp/fc1/Add_output_0"))
    value, gate = graph.split(inner, 2)
    gated = graph.op("Mul", graph.op("QuickGelu", gate, domain=CONTRIB, alpha=1.0), value)
    output = weights.matrix(f"{prefix}/mlp/fc2/Add_output_0")
    return graph.op("Add", hidden, graph.linear(gated, output))
