"""Gives an ONNX graph of another exporter the inputs and outputs of our engines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, compose, helper

from engines.bert.session import INPUTS, MASK
from modelkit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREFIX = "checkpoint/"
_KNOWN_INPUTS = {
    "input_ids": ("input_ids", "ids", "input_word_ids"),
    MASK: (MASK, "input_mask", "mask"),
    "token_type_ids": ("token_type_ids", "segment_ids", "input_type_ids", "type_ids"),
}
_KNOWN_OUTPUTS = {
    "start_logits": ("start_logits", "start", "output_start_logits"),
    "end_logits": ("end_logits", "end", "output_end_logits"),
    "intent_logits": ("intent_logits", "intents", "intent"),
    "tag_logits": ("tag_logits", "slot_logits", "slots", "tags"),
    "span_logits": ("span_logits", "logits"),
}
OUTPUTS = {
    "qa": (("start_logits", "end_logits"), ("span_logits",)),
    "nlu": (("intent_logits", "tag_logits"),),
}
"""For each task the sets of outputs of which one must be there; ``span_logits`` has start and end in its last axis."""
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
_INTEGERS = (TensorProto.INT64, TensorProto.INT32)


def recognize_inputs(model: onnx.ModelProto, given: Mapping[str, str], name: str) -> dict[str, str]:
    """Finds the graph's own names of our inputs.

    Args:
        model: its graph may have more outputs than are used, but no more inputs.
        given: graph's name of those of our inputs that the user names.
        name: what to call the file in errors.

    Raises:
        CheckpointError: an input is unknown, missing, or of a fixed or odd shape.
    """
    initialized = {initializer.name for initializer in model.graph.initializer}
    values = {value.name: value for value in model.graph.input if value.name not in initialized}
    found = _recognize(values, _KNOWN_INPUTS, given, f"{name} has no input")
    unknown = sorted(set(values) - set(found.values()))
    if unknown or not {"input_ids", MASK} <= set(found):
        raise CheckpointError(
            f"{name} has the inputs {', '.join(values)}, but {', '.join(INPUTS)} are known, and the first two needed: "
            "name them with --input, as in --input input_ids=tokens"
        )
    for value in (values[own] for own in found.values()):
        tensor = value.type.tensor_type
        if tensor.elem_type not in _INTEGERS or len(tensor.shape.dim) != 2:
            raise CheckpointError(f"{name}: the input {value.name} is no integer for every row and token: export it so")
        if any(dimension.HasField("dim_value") for dimension in tensor.shape.dim):
            raise CheckpointError(f"{name}: the input {value.name} has a fixed shape: export it with dynamic axes")
    return found


def recognize_outputs(model: onnx.ModelProto, task: str | None, given: Mapping[str, str], name: str) -> dict[str, str]:
    """Finds the graph's own names of the outputs of an engine.

    Args:
        model: whose graph is looked at.
        task: ``qa`` or ``nlu``; None takes what the outputs are for.
        given: graph's name of those of our outputs that the user names.
        name: what to call the file in errors.

    Raises:
        CheckpointError: there are not all outputs of any task, or they are no floats.
    """
    values = {value.name: value for value in model.graph.output}
    found = _recognize(values, _KNOWN_OUTPUTS, given, f"{name} has no output")
    for wanted in OUTPUTS[task] if task else (names for sets in OUTPUTS.values() for names in sets):
        if set(wanted) <= set(found):
            chosen = {ours: found[ours] for ours in wanted}
            for ours, own in chosen.items():
                _check_output(ours, values[own].type.tensor_type, f"{name}: the output {own}")
            return chosen
    raise CheckpointError(
        f"{name} has the outputs {', '.join(values)}, but start_logits and end_logits are answers, intent_logits and "
        "tag_logits intents: name them with --output, as in --output start_logits=start"
    )


def adapt(model: onnx.ModelProto, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> onnx.ModelProto:
    """Returns a model with our inputs, int64 ``[rows, tokens]``, and our outputs, float32.

    Args:
        model: any.
        inputs: graph's name of each of our inputs.
        outputs: graph's name of each of our outputs.
    """
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    inner = compose.add_prefix(model, _PREFIX)
    graph = inner.graph
    # Intents are told from one text: where the network asks for segments there, all are the first.
    segments = "intent_logits" in outputs and "token_type_ids" in inputs
    served = [ours for ours in inputs if not (segments and ours == "token_type_ids")]
    before = [_cast(ours, _PREFIX + inputs[ours], types[inputs[ours]]) for ours in served]
    if segments:
        before.append(helper.make_node("Sub", ["input_ids", "input_ids"], ["no_segments"]))
        own = inputs["token_type_ids"]
        before.append(_cast("no_segments", _PREFIX + own, types[own]))
    nodes = _needed([*before, *graph.node, *_float_outputs(outputs)], set(_ours(outputs)))
    used = {name for node in nodes for name in _read_by(node)}
    kept = [initializer for initializer in graph.initializer if initializer.name in used]
    del graph.node[:], graph.input[:], graph.output[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept)
    graph.input.extend(helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"]) for name in served)
    graph.output.extend(_declared(ours) for ours in _ours(outputs))
    return inner


def _recognize(
    values: Mapping[str, object], known: Mapping[str, Sequence[str]], given: Mapping[str, str], complaint: str
) -> dict[str, str]:
    for own in given.values():
        if own not in values:
            raise CheckpointError(f"{complaint} {own}, but {', '.join(values)}: name one of these")
    plain = {re.sub(r":\d+$", "", own).lower(): own for own in values if own not in given.values()}
    found = {ours: plain[alias] for ours, aliases in known.items() for alias in reversed(aliases) if alias in plain}
    return found | dict(given)


def _needed(nodes: Sequence[onnx.NodeProto], wanted: set[str]) -> list[onnx.NodeProto]:
    """Leaves nodes out whose results nobody reads; ``nodes`` stand in the order of their work."""
    kept = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted |= set(_read_by(node))
    return kept[::-1]


def _read_by(node: onnx.NodeProto) -> list[str]:
    """Names what a node reads, and the nodes of the graphs inside it."""
    inner = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    inner += [graph for attribute in node.attribute for graph in attribute.graphs]
    return [*node.input, *(name for graph in inner for step in graph.node for name in _read_by(step)),
            *(value.name for graph in inner for value in graph.output)]  # fmt: skip


def _cast(source: str, target: str, kind: int) -> onnx.NodeProto:
    return helper.make_node("Cast", [source], [target], to=kind)


def _ours(outputs: Mapping[str, str]) -> Sequence[str]:
    """Names the outputs that an engine has, for which span logits are split."""
    return ("start_logits", "end_logits") if "span_logits" in outputs else tuple(outputs)


def _check_output(ours: str, tensor: onnx.TypeProto.Tensor, name: str) -> None:
    if tensor.elem_type not in _FLOATS:
        raise CheckpointError(f"{name} holds no floats: export the logits")
    dimensions = tensor.shape.dim
    if ours == "span_logits" and (len(dimensions) != 3 or (dimensions[2].dim_value or 2) != 2):
        raise CheckpointError(f"{name} has no start and end for each token: it is no network for answers")


def _float_outputs(outputs: Mapping[str, str]) -> list[onnx.NodeProto]:
    if "span_logits" not in outputs:
        return [_cast(_PREFIX + own, ours, TensorProto.FLOAT) for ours, own in outputs.items()]
    picked = [(0, "start_logits"), (1, "end_logits")]
    return [
        _cast(_PREFIX + outputs["span_logits"], "span_logits", TensorProto.FLOAT),
        *(_constant(f"{ours}_index", index) for index, ours in picked),
        *(helper.make_node("Gather", ["span_logits", f"{ours}_index"], [ours], axis=-1) for _, ours in picked),
    ]


def _constant(name: str, value: int) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=helper.make_tensor(name, TensorProto.INT64, [], [value]))


def _declared(ours: str) -> onnx.ValueInfoProto:
    """Declares an output; a vector a token has a last axis of any length."""
    shapes: dict[str, tuple[str | None, ...]] = {
        "start_logits": ("rows", "tokens"),
        "end_logits": ("rows", "tokens"),
        "intent_logits": ("rows", None),
    }
    return helper.make_tensor_value_info(ours, TensorProto.FLOAT, shapes.get(ours, ("rows", "tokens", None)))
