"""Builds the sound part of the ``end_of_turn`` model: ``python -m engines.build.smart_turn``.

Smart Turn v3.2 (Daily, BSD 2-Clause licence) comes inside the wheel of ``pipecat-ai``. The wheel is downloaded, not
installed: nothing else of it is needed. Wheel and network are checked against the sums below. Two graphs are made of
the network, with two more outputs from which our own part judges: ``whole.onnx`` looks at eight seconds, as the package
does, and ``recent.onnx``, which is served, at the last five, in less than half the time. Running it again does nothing
unless this file has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from engines.build.files import whole_directory
from engines.build.wheels import WheelError, download

PACKAGE = "pipecat-ai==1.14.0"
WHEEL_SHA256 = "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44"
MEMBER = "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx"
NETWORK_SHA256 = "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"
TARGET = Path(__file__).resolve().parents[2] / "model_repository" / "end_of_turn" / "1" / "smart-turn"

WHOLE, RECENT = "whole.onnx", "recent.onnx"
RECENT_FRAMES = 250
"""Frames of 20 ms that the served graph looks at."""

_BUILT = "built"
_FRAMES, _POSITIONS = "val_21", "inner.encoder.embed_positions.weight"
"""Weights that hold how many frames there are, and where each stands."""
_TAPPED = {"linear_28": "logit", "layer_norm_8": "frames", "sum_1": "summary"}
"""Inner tensors of the network, and what they are called as outputs."""


class SmartTurnError(WheelError):
    """The network cannot be had, or is not the expected one; the message says what to do."""


def read_network(wheel: Path) -> bytes:
    """Reads the network out of the wheel.

    Raises:
        SmartTurnError: it is not there, or another one.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            network = archive.read(MEMBER)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise SmartTurnError(f"{wheel} holds no Smart Turn: download {PACKAGE} ({error})") from error
    if hashlib.sha256(network).hexdigest() != NETWORK_SHA256:
        raise SmartTurnError(f"{wheel} holds another Smart Turn than that of {PACKAGE}: download that version")
    return network


def tapped(network: bytes) -> onnx.ModelProto:
    """Returns the graph with its inner judgement as outputs.

    The input is ``input_features`` float32 ``[pauses, 80, 800]``. Outputs are ``logit`` ``[pauses, 1]``, positive where
    the turn is over, ``frames`` ``[pauses, 400, 384]``, 20 ms each, and ``summary`` ``[pauses, 384]``, their mean with
    the weights that the network gives them.
    """
    model = onnx.load_from_string(network)
    del model.graph.output[:]
    for inner, name in _TAPPED.items():
        model.graph.node.append(onnx.helper.make_node("Identity", [inner], [name]))
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    _drop_unused(model.graph)
    return model


def _drop_unused(graph: onnx.GraphProto) -> None:
    """Drops nodes and weights that no output needs."""
    wanted = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            wanted |= set(node.input)
            kept.append(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
    read = [tensor for tensor in graph.initializer if tensor.name in wanted]
    del graph.initializer[:]
    graph.initializer.extend(read)


def shortened(model: onnx.ModelProto, frames: int) -> onnx.ModelProto:
    """Returns the graph for the last frames alone, which keep their places: input ``[pauses, 80, 2 * frames]``.

    Raises:
        SmartTurnError: the network is built otherwise.
    """
    short = onnx.ModelProto()
    short.CopyFrom(model)
    found = {tensor.name: tensor for tensor in short.graph.initializer if tensor.name in {_FRAMES, _POSITIONS}}
    if len(found) < 2:
        raise SmartTurnError(f"Smart Turn has no weights {_FRAMES} and {_POSITIONS}: use the network of {PACKAGE}")
    places = numpy_helper.to_array(found[_POSITIONS])[-frames:]
    found[_POSITIONS].CopyFrom(numpy_helper.from_array(places.copy(), _POSITIONS))
    found[_FRAMES].CopyFrom(numpy_helper.from_array(np.array([frames], np.int64), _FRAMES))
    short.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 2 * frames
    del short.graph.value_info[:]
    return short


def build(target: Path, wheel: Path | None = None) -> bool:
    """Writes the graphs, unless they are there.

    Args:
        target: their folder.
        wheel: the wheel of the package; None to download it.

    Returns:
        Whether anything was written.

    Raises:
        WheelError: the network cannot be had.
    """
    fingerprint = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    files = [target / name for name in (WHOLE, RECENT, _BUILT)]
    if all(file.exists() for file in files) and files[-1].read_text() == fingerprint:
        return False
    with whole_directory(target) as folder:
        with tempfile.TemporaryDirectory() as scratch:
            whole = tapped(read_network(wheel or download(PACKAGE, WHEEL_SHA256, Path(scratch))))
        onnx.save(whole, folder / WHOLE)
        onnx.save(shortened(whole, RECENT_FRAMES), folder / RECENT)
        (folder / _BUILT).write_text(fingerprint)
    return True


def main() -> int:
    """Builds the network and says what was done; returns the exit status."""
    parser = argparse.ArgumentParser(description=f"Build the sound part of end_of_turn from the wheel of {PACKAGE}.")
    parser.add_argument("--target", type=Path, default=TARGET, help="folder to build in (default: %(default)s)")
    parser.add_argument("--wheel", type=Path, help="the wheel, where it need not be downloaded")
    options = parser.parse_args()
    try:
        written = build(options.target, options.wheel)
    except WheelError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'Built' if written else 'Up to date:'} {options.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
