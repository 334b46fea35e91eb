"""ONNX graph as sets of nodes: ancestors, weights, and subgraphs between tensors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, helper

from engines.session import HIDDEN, NEXT_HIDDEN
from modelkit.errors import SplitError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from modelkit.splitting.cuts import Stage

_EMBEDDING_OPERATORS = {"EmbedLayerNormalization", "QEmbedLayerNormalization"}
_EMBEDDING_MASK = 7
"""Place of the attention mask among the inputs of those."""
_ATTENTION_OPERATORS = {"Softmax", "Attention", "QAttention", "MultiHeadAttention"}
_NORM_OPERATORS = {"LayerNormalization", "SkipLayerNormalization", "InstanceNormalization"}
_MAX_SINGLE_FILE_BYTES = 64_000_000
"""Larger weights lie in a file beside the network, which is mapped: protobuf is held twice while it is loaded."""


class NetworkGraph:
    """Graph of an encoder, for cutting.

    A set of nodes is a whole number whose bit ``i`` stands for the node ``i``, in the order of the file.

    Args:
        path: of the ``.onnx`` file.
        early: outputs that the first stage computes. Later stages read them, where they need them.
        layered: outputs that are joined of a part for each layer, of which every stage computes those of its layers.

    Attributes:
        model: the whole network.
        outputs: those that the last stage computes.

    Raises:
        SplitError: the file cannot be read, or has control flow.
    """

    def __init__(self, path: Path, early: Sequence[str] = (), layered: Sequence[str] = ()) -> None:
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
        self._early, self._layered = tuple(early), tuple(layered)
        self.outputs = [one.name for one in self.model.graph.output if one.name not in {*early, *layered}]
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
        """Return the nodes that compute tensors from the graph's inputs and one that is given, with all early ones."""
        known = {given, *self._early} if given else set()
        found, waiting = 0, [name for name in names if name not in known]
        while waiting:
            place = self._producers.get(waiting.pop())
            if place is not None and not found >> place & 1:
                found |= 1 << place
                waiting.extend(name for name in self.nodes[place].input if name and name not in known)
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

    def stage(
        self, part: Stage, hidden: Sequence[str | int | None] | None, always: Collection[str] = ()
    ) -> onnx.ModelProto:
        """Return the network between two cuts as one of its own.

        Args:
            part: where it is cut.
            hidden: sizes of the tensors there, or their names; None to tell onnxruntime none.
            always: inputs that it has even where the graph has no use for them.
        """
        source, target = part.source, part.target
        renamed = {source: HIDDEN, target: NEXT_HIDDEN} if source else {target: NEXT_HIDDEN}
        own_outputs = [*([] if source else self._early), *([] if target else self.outputs)]
        joined = {name: self._joined(name).input[part.first - 1 : part.last] for name in self._layered}
        parts = [name for names in joined.values() for name in names]
        nodes = []
        for node in self.members(self.ancestors([*([target] if target else []), *own_outputs, *parts], source)):
            own = onnx.NodeProto()
            own.CopyFrom(node)
            own.input[:] = [renamed.get(name, name) if name else name for name in node.input]
            own.output[:] = [renamed.get(name, name) if name else name for name in node.output]
            nodes.append(own)
        for name, names in joined.items():
            nodes.append(joining := onnx.NodeProto())
            joining.CopyFrom(self._joined(name))
            joining.input[:] = names
        used = {name for node in nodes for name in node.input}
        described = {value.name: value for value in self.model.graph.output}
        inputs = [value for value in self.model.graph.input if value.name in used | set(always)]
        if source:
            inputs += [described[name] for name in self._early if name in used]
            inputs.append(helper.make_tensor_value_info(HIDDEN, TensorProto.FLOAT, hidden))
        outputs = [helper.make_tensor_value_info(NEXT_HIDDEN, TensorProto.FLOAT, hidden)] if target else []
        outputs += [described[name] for name in own_outputs]
        for name in self._layered:
            outputs.append(value := onnx.ValueInfoProto())
            value.CopyFrom(described[name])
            value.type.tensor_type.shape.dim[0].dim_value = part.last - part.first + 1
        weights = [tensor for name, tensor in self._initializers.items() if name in used]
        graph = helper.make_graph(nodes, "stage", inputs, outputs, weights)
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)

    def _joined(self, output: str) -> onnx.NodeProto:
        """Return the node that joins the parts of a layered output."""
        node = self.nodes[self._producers[output]]
        if node.op_type != "Concat":
            raise SplitError(
                f"the network cannot be cut: {output} is not joined of its layers: import the engine again"
            )
        return node

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
