"""The ONNX graph of a network whose form of attention onnxruntime would not recognize."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from modelkit import export

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from modelkit.networks import EncoderNetwork


def trace(network: EncoderNetwork, target: Path, inputs: Sequence[str], outputs: Mapping[str, bool]) -> None:
    """Writes a network, without pruning, as float32 ONNX, operator by operator.

    Args:
        network: takes ``inputs``, each ``[rows, tokens]`` int64, in that order.
        target: is written.
        inputs: their names.
        outputs: name of each output, and whether it has one value or vector a token.
    """
    network = copy.deepcopy(network.unpruned()).eval()
    # Of other forms of attention than the plain one the tracer makes a graph that onnxruntime cannot fuse.
    network.encoder.set_attn_implementation("eager")
    example = export.example(inputs, network.encoder.config.vocab_size)
    export.trace(network, target, inputs, outputs, example)
