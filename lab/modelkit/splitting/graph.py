"""ONNX graph as sets of nodes: ancestors, weights, and subgraphs between tensors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, helper

from engines.bert.session import HIDDEN, MASK, NEXT_HIDDEN
from modelkit.errors import SplitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_EMBEDDING_OPERATORS = {"EmbedLayerNormalization", "QEmbedLayerNormalization"}
_EMBEDDING_MASK = 7
"""Place of the attention mask among the inputs of those."""
_ATTENTION_OPERATORS = {"Softmax", "Attention", "QAttention", "MultiHeadAttention"}
_NORM_OPERATORS = {"LayerNormalization", "SkipLayerNormalization", "InstanceNormalization"}
_MAX_SINGLE_FILE_BYTES = 64_000_000
"""Larger weights lie in a file beside the network, which is mapped: protobuf is held twice while it is loaded."""


class NetworkGraph:
    """Graph of a BERT, for cutting.

    A set of nodes is a whole number whose bit ``i`` stands for the node ``i``, in the order of the file.

    Args:
        path: of the ``.onnx`` file.

    Raises:
        SplitError: the file cannot be read, or has control flow.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.model = onnx.load(path)
        except Exception as error:
            raise SplitError(
                f"{path} cannot be read as ONNX ({type(error).__name__}): make the engine again"
            ) from error
        for node in self.model.graph.node:
            if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
                raise SplitError(f"{path} has control flow ({node.op_type}), and is not cut: export without it")
        _free_mask_index(self.model.graph)
        self.nodes = list(self.model.graph.node)
        self.outputs = [output.name for output in self.model.graph.output]
        self._initializers = {tensor.name: tensor for tensor in self.model.graph.initializer}
        # Protobuf would write a tensor out to tell its size.
        self._sizes = {name: _bytes(tensor) for name, tensor in self._initializers.items()}
        self._producers = {name: place for place, node in enumerate(self.nodes) for name in node.output if name}

    @cached_property
    def attentions(self) -> int:
        """Nodes that compute an attention, one a layer."""
        return self._nodes_of(_ATTENTION_OPERATORS)

    @cached_property
    def costly(self) -> int:
        """Nodes that no two stages may both compute."""
        products = sum(1 << place for place, node in enumerate(self.nodes) if _multiplies(node))
        return self._nodes_of(_ATTENTION_OPERATORS | _NORM_OPERATORS | _EMBEDDING_OPERATORS) | products

    def ancestors(self, names: Iterable[str], given: str = "") -> int:
        """Return the nodes that compute tensors from the graph's inputs and one that is given."""
        found, waiting = 0, [name for name in names if name != given]
        while waiting:
            place = self._producers.get(waiting.pop())
            if place is not None and not found >> place & 1:
                found |= 1 << place
                waiting.extend(name for name in self.nodes[place].input if name and name != given)
        return found

    def members(self, nodes: int) -> Iterator[onnx.NodeProto]:
        """Yield the nodes of a set in their order."""
        return (node for place, node in enumerate(self.nodes) if nodes >> place & 1)

    def weight_bytes(self, nodes: int) -> int:
        """Size of the weights of nodes; those that several share count once."""
        names = {name for node in self.members(nodes) for name in node.input if name in self._initializers}
        constants = (node for node in self.members(nodes) if node.op_type == "Constant")
        return sum(self._sizes[name] for name in names) + sum(node.ByteSize() for node in constants)

    def products(self, nodes: int) -> int:
        """Multiplications a token of the weight matrices of nodes."""
        matrices = (
            self._initializers[name].dims
            for node in self.members(nodes)
            if _multiplies(node)
            for name in node.input
            if name in self._initializers and len(self._initializers[name].dims) > 1
        )
        return sum(dims[0] * dims[1] for dims in matrices)

    def with_outputs(self, names: Iterable[str]) -> onnx.ModelProto:
        """Return the whole network with more outputs; its weights are shared."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        return model

    def stage(self, source: str, target: str, width: int) -> onnx.ModelProto:
        """Return the network between two cuts as one of its own.

        Args:
            source: tensor that it begins with; "" for the network's inputs.
            target: tensor that it ends with; "" for the network's outputs.
            width: of both.
        """
        renamed = {source: HIDDEN, target: NEXT_HIDDEN} if source else {target: NEXT_HIDDEN}
        nodes = []
        for node in self.members(self.ancestors([target] if target else self.outputs, source)):
            own = onnx.NodeProto()
            own.CopyFrom(node)
            own.input[:] = [renamed.get(name, name) if name else name for name in node.input]
            own.output[:] = [renamed.get(name, name) if name else name for name in node.output]
            nodes.append(own)
        used = {name for node in nodes for name in node.input}
        # The mask tells the session how long the rows are, even where the graph has no use for it.
        inputs = [value for value in self.model.graph.input if not source or value.name in used | {MASK}]
        hidden: list[str | int | None] = ["rows", "tokens", width]
        if source:
            inputs.append(helper.make_tensor_value_info(HIDDEN, TensorProto.FLOAT, hidden))
        outputs = (
            [helper.make_tensor_value_info(NEXT_HIDDEN, TensorProto.FLOAT, hidden)]
            if target
            else list(self.model.graph.output)
        )
        weights = [tensor for name, tensor in self._initializers.items() if name in used]
        graph = helper.make_graph(nodes, "stage", inputs, outputs, weights)
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)

    def _nodes_of(self, operators: set[str]) -> int:
        return sum(1 << place for place, node in enumerate(self.nodes) if node.op_type in operators)


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write a network, with its weights in a second file where one would be too large."""
    large = sum(map(_bytes, model.graph.initializer)) > _MAX_SINGLE_FILE_BYTES
    weights = path.with_name(f"{path.name}.data")
    onnx.save(model, path, save_as_external_data=large, location=weights.name)
    if large:
        weights.chmod(path.stat().st_mode)  # ONNX makes it readable for its owner alone.


def _bytes(tensor: onnx.TensorProto) -> int:
    return math.prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize


def _multiplies(node: onnx.NodeProto) -> bool:
    return any(part in node.op_type for part in ("MatMul", "Gemm", "Attention", "Conv"))


def _free_mask_index(graph: onnx.GraphProto) -> None:
    """Have the lengths of rows computed from the mask, where the fused embeddings give them too.

    Every layer needs them, and a later stage has no embeddings.
    """
    for place, node in enumerate(graph.node):
        if node.op_type not in _EMBEDDING_OPERATORS or len(node.input) <= _EMBEDDING_MASK:
            continue
        mask, index = node.input[_EMBEDDING_MASK], node.output[1]
        if not mask or not any(index in other.input for other in graph.node):
            continue
        node.output[1] = f"{index}_of_embeddings"
        graph.initializer.append(helper.make_tensor("stage_token_axis", TensorProto.INT64, [1], [1]))
        graph.node.insert(place, helper.make_node("ReduceSum", [mask, "stage_token_axis"], [index], keepdims=0))
        return
