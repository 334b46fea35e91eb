"""Rewriting of 8-bit graphs of onnxruntime's own operators into standard ONNX.

``engines.build.quantize`` writes graphs that only onnxruntime reads. Their weights and fixed ranges are those of any
8-bit network, so that the same network can be written with the operators that OpenVINO and TensorRT know: in float32,
or with a ``QuantizeLinear`` and a ``DequantizeLinear`` around each product (QDQ).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

_MASKED = -10_000.0
"""Added to the scores of tokens that there are not, as onnxruntime does."""
_TESTED = {"BiasGelu", "FastGelu", "Gelu", "MatMulNBits", "SkipLayerNormalization"}
"""Operators of onnxruntime's own that OpenVINO reads, and computes alike: its ``RotaryEmbedding`` is another one."""
_MICROSOFT = "com.microsoft"
_PRODUCTS = {"MatMulIntegerToFloat", "QAttention", "DequantizeLinear"}
"""Operators that come with a product in 8 bits of fixed ranges."""
_NEW = "portable/"
"""Names of new tensors begin so, and none of a graph does."""
_OPSET = 17
"""The first with ``LayerNormalization``."""


class NotPortableError(ValueError):
    """A graph that cannot be rewritten; the message names the operator."""


def portable(model: onnx.ModelProto, *, quantized: bool) -> onnx.ModelProto:
    """Rewrite a graph with standard operators, where it has others.

    Args:
        model: a graph in 8 bits or float32.
        quantized: keep the products in 8 bits, as QDQ, in place of float32.

    Returns:
        The same object where nothing is to be rewritten.

    Raises:
        NotPortableError: an operator cannot be rewritten, or ``quantized`` is asked of a graph without 8-bit weights or
            without fixed ranges.
    """
    own = {node.op_type for node in model.graph.node if node.domain == _MICROSOFT}
    if unknown := sorted(own - _REWRITERS.keys() - _TESTED):
        raise NotPortableError(f"{', '.join(unknown)} can be computed by onnxruntime alone")
    operators = {node.op_type for node in model.graph.node}
    if quantized and not operators & _PRODUCTS:
        raise NotPortableError("its products are not in 8 bits of fixed ranges")
    if not operators & _REWRITERS.keys():
        return model
    rewriting = _Rewriting(model.graph, quantized)
    nodes = [made for node in rewriting.nodes for made in rewriting.rewrite(node)]
    rewritten = onnx.ModelProto()
    rewritten.CopyFrom(model)
    del rewritten.graph.node[:], rewritten.graph.initializer[:]
    used = {output.name for output in model.graph.output}
    kept = []
    for node in reversed(nodes):
        if used.intersection(node.output):
            kept.append(node)
            used.update(node.input)
    rewritten.graph.node.extend(reversed(kept))
    rewritten.graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in rewriting.constants.items() if name in used
    )
    for opset in rewritten.opset_import:
        if not opset.domain:
            opset.version = max(opset.version, _OPSET)
    return rewritten


def float32_graph(path: Path) -> Path | bytes:
    """Return a graph in float32; its path where that can be read as it is."""
    model = onnx.load(path)
    try:
        rewritten = portable(model, quantized=False)
    except NotPortableError:
        return path
    return path if rewritten is model else bytes(rewritten.SerializeToString())


@dataclass(slots=True)
class _Rewriting:
    """Rewriting of one graph.

    Attributes:
        graph: as it was.
        quantized: whether products stay in 8 bits.
        constants: initializers by name, with those that are made.
        makers: the node of each tensor.
        users: the nodes that read each tensor.
        joined: nodes that an earlier one has taken in, by identity.
        restorations: activations that were restored so far, which number their names.
    """

    graph: onnx.GraphProto
    quantized: bool
    constants: dict[str, Array] = field(init=False)
    makers: dict[str, onnx.NodeProto] = field(init=False)
    users: dict[str, list[onnx.NodeProto]] = field(init=False)
    joined: set[int] = field(default_factory=set)
    restorations: int = 0
    nodes: list[onnx.NodeProto] = field(init=False)

    def __post_init__(self) -> None:
        self.constants = {value.name: numpy_helper.to_array(value) for value in self.graph.initializer}
        # Indexing a repeated field makes no new objects as long as one holds them: identities stay.
        self.nodes = list(self.graph.node)
        self.makers = {output: node for node in self.nodes for output in node.output}
        self.users = {}
        for node in self.nodes:
            for name in node.input:
                self.users.setdefault(name, []).append(node)

    def rewrite(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Return the nodes that take a node's place."""
        if id(node) in self.joined:
            return []
        rewriter = _REWRITERS.get(node.op_type)
        return rewriter(self, node) if rewriter else [node]

    def constant(self, name: str, value: Array) -> str:
        """Add an initializer of a new name; return that."""
        assert name not in self.constants, name
        self.constants[name] = value
        return name

    def activation(self, name: str) -> tuple[str, list[onnx.NodeProto]]:
        """Return a quantized tensor's activation, and the nodes that make it."""
        maker = self.makers.get(name)
        if not self.quantized and (source := self.rounded_by_row(name)):
            return source, []
        if maker is None or maker.op_type not in ("QuantizeLinear", "DynamicQuantizeLinear"):
            raise NotPortableError(f"the product of {name} does not begin with a quantization")
        if not self.quantized:
            return maker.input[0], []
        if maker.op_type != "QuantizeLinear":
            raise NotPortableError("its ranges are found in every batch anew, and 8 bits need fixed ones")
        restored = f"{_NEW}{name}_{self.restorations}"
        self.restorations += 1
        return restored, [helper.make_node("DequantizeLinear", [name, *maker.input[1:3]], [restored])]

    def rounded_by_row(self, name: str) -> str:
        """Return the activation that was rounded in a scale for each row; or ""."""
        for operator in ("Cast", "Add", "Round", "Div"):
            maker = self.makers.get(name)
            if maker is None or maker.op_type != operator:
                return ""
            name = maker.input[0]
        return name

    def weights(self, name: str, scale: str, zero_point: str) -> tuple[str, list[onnx.NodeProto]]:
        """Return a product's float32 weights, and the nodes that make them."""
        restored = f"{_NEW}{name}"
        if restored in self.constants:
            return restored, []
        if self.quantized:
            node = helper.make_node("DequantizeLinear", [name, scale, zero_point], [restored])
            if self.constants[scale].ndim:
                node.attribute.append(helper.make_attribute("axis", 1))
            return restored, [node]
        return self.constant(restored, self.restored(name, scale, zero_point)), []

    def restored(self, name: str, scale: str, zero_point: str, axis: int = -1) -> npt.NDArray[np.float32]:
        """Return a quantized initializer in float32, scaled along an axis."""
        value = self.constants[name].astype(np.float32)
        factor = self.constants[scale].astype(np.float32)
        zero = self.constants[zero_point].astype(np.float32) if zero_point else np.zeros_like(factor)
        if factor.size > 1:
            along = [-1 if place == axis % value.ndim else 1 for place in range(value.ndim)]
            factor, zero = factor.reshape(along), zero.reshape(along)
        return (value - zero) * factor


def _restoration(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite ``DequantizeLinear``: in float32 nothing was rounded before it."""
    if rewriting.quantized:
        return [node]
    name, scale, zero_point = [*node.input, ""][:3]
    if name in rewriting.constants:
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
        rewriting.constant(node.output[0], rewriting.restored(name, scale, zero_point, axis))
        return []
    return [helper.make_node("Identity", [rewriting.activation(name)[0]], [node.output[0]])]


def _dynamic_product(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite ``MatMulInteger`` with the cast and the scales behind it."""
    names = [*node.input, "", ""][:4]
    try:
        (cast,) = rewriting.users[node.output[0]]
        (scaling,) = rewriting.users[cast.output[0]]
        rewriting.joined |= {id(cast), id(scaling)}
        if rewriting.rounded_by_row(names[0]):
            # By row first, then by column.
            (scales,) = rewriting.users[scaling.output[0]]
            scaling = scales
            rewriting.joined.add(id(scaling))
        else:
            scales = rewriting.makers[next(name for name in scaling.input if name != cast.output[0])]
        scale = next(name for name in scales.input if name in rewriting.constants)
    except (KeyError, ValueError, StopIteration):
        raise NotPortableError("a product in 8 bits has no scale of its own") from None
    values, before = rewriting.activation(names[0])
    weights, made = rewriting.weights(names[1], scale, names[3])
    return [*before, *made, helper.make_node("MatMul", [values, weights], list(scaling.output))]


def _product(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite ``MatMulIntegerToFloat``."""
    names = [*node.input, "", "", ""]
    values, before = rewriting.activation(names[0])
    weights, made = rewriting.weights(names[1], names[3], names[5])
    out = node.output[0]
    bias = names[6]
    product = f"{_NEW}{out}_product" if bias else out
    nodes = [*before, *made, helper.make_node("MatMul", [values, weights], [product])]
    return [*nodes, helper.make_node("Add", [product, bias], [out])] if bias else nodes


def _attention(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite ``QAttention``, with lengths of rows or a mask of tokens."""
    options = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if options.get("unidirectional") or options.get("do_rotary") or any(list(node.input)[8:]):
        raise NotPortableError("its attention looks back alone, or has a past")
    names = [*node.input, "", "", ""][:9]
    values, before = rewriting.activation(names[0])
    weights, made = rewriting.weights(names[1], names[4], names[7])
    out = f"{_NEW}{node.output[0]}"
    width = rewriting.constants[names[1]].shape[1] // 3
    parts = [f"{out}_{part}" for part in ("q", "k", "v")]
    return [
        *before,
        *made,
        helper.make_node("MatMul", [values, weights], [f"{out}_product"]),
        helper.make_node("Add", [f"{out}_product", names[2]], [f"{out}_qkv"]),
        helper.make_node("Split", [f"{out}_qkv"], parts, axis=2),
        *_attend(
            rewriting, node.output[0], parts, names[5], (int(options["num_heads"]), width, options.get("scale", 0.0))
        ),
    ]


def _multi_head(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite ``MultiHeadAttention`` with a mask of tokens."""
    options = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    names = [*node.input, "", "", ""]
    scale = options.get("scale", 0.0)
    if not (names[1] and names[2] and scale) or names[3] or any(names[5:]):
        raise NotPortableError("its attention has a bias or a past")
    # The width of a head is read off the tensor: -1 in place of it.
    return _attend(rewriting, node.output[0], names[:3], names[4], (int(options["num_heads"]), 0, scale))


def _attend(
    rewriting: _Rewriting, output: str, parts: Sequence[str], mask: str, sizes: tuple[int, int, float]
) -> list[onnx.NodeProto]:
    """Return the nodes of an attention.

    Args:
        rewriting: of the graph.
        output: which its other tensors are named after.
        parts: queries, keys and values, ``[rows, tokens, width]`` each.
        mask: the lengths of the rows, a value for each token, or "".
        sizes: heads; their width together, 0: as wide as the queries are; the scale, 0: as usual.
    """
    out = f"{_NEW}{output}"
    heads, width, scale = sizes
    factor = scale or (width // heads) ** -0.5
    scaled = rewriting.constant(f"{out}_scale", np.array(factor, np.float32))
    split = rewriting.constant(f"{out}_heads", np.array([0, 0, heads, width // heads or -1], np.int64))
    joined = rewriting.constant(f"{out}_joined", np.array([0, 0, width or -1], np.int64))
    nodes = []
    headed = [f"{out}_{part}_heads" for part in ("queries", "keys", "values")]
    for part, name, order in zip(parts, headed, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True):
        nodes += [
            helper.make_node("Reshape", [part, split], [f"{name}_split"]),
            helper.make_node("Transpose", [f"{name}_split"], [name], perm=order),
        ]
    nodes += [
        helper.make_node("MatMul", headed[:2], [f"{out}_products"]),
        helper.make_node("Mul", [f"{out}_products", scaled], [f"{out}_scores"]),
    ]
    scores = f"{out}_scores"
    if mask:
        nodes += _mask_bias(rewriting, mask, parts[1], out)
        nodes.append(helper.make_node("Add", [scores, f"{out}_bias"], [f"{out}_masked"]))
        scores = f"{out}_masked"
    return [
        *nodes,
        helper.make_node("Softmax", [scores], [f"{out}_shares"], axis=-1),
        helper.make_node("MatMul", [f"{out}_shares", headed[2]], [f"{out}_mixed"]),
        helper.make_node("Transpose", [f"{out}_mixed"], [f"{out}_tokens"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", [f"{out}_tokens", joined], [output]),
    ]


def _rotary(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite ``RotaryEmbedding`` of neighbouring pairs, from the first place on."""
    options = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    source, places, cosines, sines = node.input
    heads, turned, out = (
        int(options.get("num_heads", 0)),
        int(options.get("rotary_embedding_dim", 0)),
        f"{_NEW}{node.output[0]}",
    )
    offset = rewriting.constants.get(places)
    if not (options.get("interleaved") and heads and turned and offset is not None and not offset.any()):
        raise NotPortableError("its rotary embedding is not of neighbouring pairs from the first place on")
    numbers = {
        "split": [0, 0, heads, -1],
        "pairs": [0, 0, heads, turned // 2, 2],
        "turned": [0, 0, heads, turned],
        "joined": [0, 0, -1],
        "zero": [0],
        "turning": [turned],
        "end": [np.iinfo(np.int64).max],
        "channels": [3],
        "rows": [0],
        "pair": [4],
        "around": [0, 2],
    }
    names = {name: rewriting.constant(f"{out}_{name}", np.array(value, np.int64)) for name, value in numbers.items()}
    first, second = (rewriting.constant(f"{out}_{n}", np.array(n, np.int64)) for n in (0, 1))

    def make(operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:  # noqa: ANN401
        return helper.make_node(operator, list(inputs), [f"{out}_{output}"], **attributes)

    nodes = [
        make("Reshape", [source, names["split"]], "heads"),
        make("Slice", [f"{out}_heads", names["zero"], names["turning"], names["channels"]], "before"),
        make("Slice", [f"{out}_heads", names["turning"], names["end"], names["channels"]], "rest"),
        make("Reshape", [f"{out}_before", names["pairs"]], "paired"),
        make("Gather", [f"{out}_paired", first], "x", axis=4),
        make("Gather", [f"{out}_paired", second], "y", axis=4),
        make("Shape", [source], "length", start=1, end=2),
    ]
    for table, name in ((cosines, "cos"), (sines, "sin")):
        nodes += [
            make("Slice", [table, names["zero"], f"{out}_length", names["rows"]], f"{name}_rows"),
            make("Unsqueeze", [f"{out}_{name}_rows", names["around"]], name),
        ]
    for left, right in (("x", "cos"), ("y", "sin"), ("x", "sin"), ("y", "cos")):
        nodes.append(make("Mul", [f"{out}_{left}", f"{out}_{right}"], f"{left}_{right}"))
    return [
        *nodes,
        make("Sub", [f"{out}_x_cos", f"{out}_y_sin"], "x_after"),
        make("Add", [f"{out}_x_sin", f"{out}_y_cos"], "y_after"),
        *(make("Unsqueeze", [f"{out}_{part}_after", names["pair"]], f"{part}_column") for part in ("x", "y")),
        make("Concat", [f"{out}_x_column", f"{out}_y_column"], "turned_pairs", axis=4),
        make("Reshape", [f"{out}_turned_pairs", names["turned"]], "after"),
        make("Concat", [f"{out}_after", f"{out}_rest"], "whole", axis=3),
        helper.make_node("Reshape", [f"{out}_whole", names["joined"]], list(node.output[:1])),
    ]


def _mask_bias(rewriting: _Rewriting, mask: str, values: str, out: str) -> list[onnx.NodeProto]:
    """Return the nodes of ``{out}_bias``, ``[rows, 1, 1, tokens]``."""
    nothing = rewriting.constant(f"{out}_nothing", np.array(0, np.float32))
    masked = rewriting.constant(f"{out}_masked_score", np.array(_MASKED, np.float32))
    middle = rewriting.constant(f"{out}_middle_axes", np.array([1, 2], np.int64))
    if _is_mask_of_tokens(rewriting, mask):
        seen = [helper.make_node("Cast", [mask], [f"{out}_seen"], to=TensorProto.BOOL)]
    else:
        zero, one = (rewriting.constant(f"{out}_{n}", np.array(n, np.int64)) for n in (0, 1))
        last = rewriting.constant(f"{out}_last_axis", np.array([1], np.int64))
        index = rewriting.constant(f"{out}_tokens_axis", np.array(1, np.int64))
        seen = [
            helper.make_node("Shape", [values], [f"{out}_shape"]),
            helper.make_node("Gather", [f"{out}_shape", index], [f"{out}_count"]),
            helper.make_node("Range", [zero, f"{out}_count", one], [f"{out}_places"]),
            helper.make_node("Cast", [mask], [f"{out}_lengths"], to=TensorProto.INT64),
            helper.make_node("Unsqueeze", [f"{out}_lengths", last], [f"{out}_columns"]),
            helper.make_node("Less", [f"{out}_places", f"{out}_columns"], [f"{out}_seen"]),
        ]
    return [
        *seen,
        helper.make_node("Where", [f"{out}_seen", nothing, masked], [f"{out}_flat_bias"]),
        helper.make_node("Unsqueeze", [f"{out}_flat_bias", middle], [f"{out}_bias"]),
    ]


def _is_mask_of_tokens(rewriting: _Rewriting, name: str) -> bool:
    """Return whether a mask has a value for every token, not for each row."""
    while (maker := rewriting.makers.get(name)) is not None and maker.op_type in ("Cast", "Min"):
        name = maker.input[0]
    return maker is None or maker.op_type != "QEmbedLayerNormalization"


def _embedding(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite ``QEmbedLayerNormalization``; its tables stay in 8 bits."""
    names = [*node.input, *[""] * 18][:18]
    ids, segments, tables, norms = names[0], names[1], names[2:5], names[5:7]
    scales, zeros = names[8:13], names[13:18]
    out = f"{_NEW}{node.output[0]}"
    zero, one = (rewriting.constant(f"{out}_{n}", np.array(n, np.int64)) for n in (0, 1))
    nodes = [
        helper.make_node("Shape", [ids], [f"{out}_shape"]),
        helper.make_node("Gather", [f"{out}_shape", one], [f"{out}_count"]),
        helper.make_node("Range", [zero, f"{out}_count", one], [f"{out}_places"]),
    ]
    found = []
    for table, index, scale, zero_point in zip(
        tables, (ids, f"{out}_places", segments), scales[:3], zeros[:3], strict=True
    ):
        if table and index:
            nodes += [
                helper.make_node("Gather", [table, index], [f"{out}_{table}_found"]),
                helper.make_node(
                    "DequantizeLinear", [f"{out}_{table}_found", scale, zero_point], [f"{out}_{table}_restored"]
                ),
            ]
            found.append(f"{out}_{table}_restored")
    total = found[0]
    for number, part in enumerate(found[1:]):
        nodes.append(helper.make_node("Add", [total, part], [f"{out}_sum_{number}"]))
        total = f"{out}_sum_{number}"
    gamma, beta = (
        rewriting.constant(f"{out}_{name}", rewriting.restored(name, scale, zero_point))
        for name, scale, zero_point in zip(norms, scales[3:], zeros[3:], strict=True)
    )
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-12)
    nodes.append(
        helper.make_node("LayerNormalization", [total, gamma, beta], list(node.output[:1]), axis=-1, epsilon=epsilon)
    )
    if len(node.output) > 1 and names[7]:
        last = rewriting.constant(f"{out}_last_axis", np.array([1], np.int64))
        nodes.append(helper.make_node("ReduceSum", [names[7], last], [node.output[1]], keepdims=0))
    return nodes


def _norm(rewriting: _Rewriting, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Rewrite an ``InstanceNormalization`` whose instances are tokens."""
    fill = rewriting.makers.get(node.input[1])
    if fill is None or fill.op_type != "ConstantOfShape":
        return [node]
    scaling = rewriting.users[node.output[0]][0]
    name = next((name for name in scaling.input if name in rewriting.constants), "")
    if scaling.op_type != "Mul" or not name:
        raise NotPortableError("the width of a normalization is not known")
    ones = rewriting.constant(f"{_NEW}{node.output[0]}_ones", np.ones_like(rewriting.constants[name]))
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
    return [helper.make_node("LayerNormalization", [node.input[0], ones], list(node.output), axis=-1, epsilon=epsilon)]


_REWRITERS: Mapping[str, Callable[[_Rewriting, onnx.NodeProto], list[onnx.NodeProto]]] = {
    "DequantizeLinear": _restoration,
    "InstanceNormalization": _norm,
    "MatMulInteger": _dynamic_product,
    "MatMulIntegerToFloat": _product,
    "MultiHeadAttention": _multi_head,
    "QAttention": _attention,
    "QEmbedLayerNormalization": _embedding,
    "RotaryEmbedding": _rotary,
}
