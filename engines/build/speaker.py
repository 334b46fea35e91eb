"""Build of the model ``speaker``: ``python -m engines.build.speaker``.

The speaker embedding (Resemblyzer, Apache-2.0; Wan et al. 2018, "Generalized End-to-End Loss for Speaker Verification")
comes inside the wheel of ``resemblyzer``. The wheel is downloaded, not installed: nothing else of it is needed. Wheel
and weights are checked against the sums below, and the graph that is served is built from the weights. Running it again
does nothing unless this file has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from engines.build.files import whole_directory
from engines.build.speaker_weights import CheckpointError, read_weights
from engines.build.wheels import WheelError, download
from engines.speaker.embedder import FOLDER, NETWORK

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

PACKAGE = "resemblyzer==0.1.4"
WHEEL_SHA256 = "8f12eb2f1a9982d32e8db7856de754709b59c93a77bcf0ff536584b619a9dd1f"
MEMBER = "resemblyzer/pretrained.pt"
WEIGHTS_SHA256 = "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e"
TARGET = Path(__file__).resolve().parents[2] / "model_repository" / "speaker" / "1" / FOLDER

VARIATION = Path(__file__).with_name("speaker_variation.npz")
"""Mean of all voices, and the directions in which one voice varies with their damping; `benchmarks.diarization.fit`."""

LAYERS, HIDDEN, MELS = 3, 256, 40
_BUILT = "built"
_OPSET, _IR_VERSION = 17, 8


def read_checkpoint(wheel: Path) -> dict[str, npt.NDArray[np.float32]]:
    """Read the weights out of the wheel, by name.

    Raises:
        WheelError: they are not there, or others.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(MEMBER)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise WheelError(f"{wheel} holds no weights of Resemblyzer: download {PACKAGE} ({error})") from error
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise WheelError(f"{wheel} holds other weights than those of {PACKAGE}: download that version")
    return read_weights(data, "model_state")


def network(
    weights: Mapping[str, npt.NDArray[np.float32]], variation: Mapping[str, npt.NDArray[np.float32]] | None = None
) -> onnx.ModelProto:
    """Return the graph: a spectrogram in, the embedding of its voice out.

    The input is ``mel`` float32 ``[windows, frames, 40]``, the output ``embedding`` float32 ``[windows, 256]``, of
    length 1 each. With a variation it tells voices by less of what is said.
    """
    constants = {
        "projection": weights["linear.weight"].T,
        "bias": weights["linear.bias"],
        "first_axis": np.array([0], np.int64),
        "smallest": np.array(1e-9, np.float32),
    }
    nodes = [helper.make_node("Transpose", ["mel"], ["hidden_0"], perm=[1, 0, 2])]
    for layer in range(LAYERS):
        names = [f"{kind}_{layer}" for kind in ("input", "recurrence", "biases")]
        given = (f"lstm.weight_ih_l{layer}", f"lstm.weight_hh_l{layer}", f"lstm.bias_ih_l{layer}")
        matrices = [_gates(weights[name]) for name in given]
        matrices[2] = np.concatenate((matrices[2], _gates(weights[f"lstm.bias_hh_l{layer}"])))
        constants |= {name: matrix[np.newaxis] for name, matrix in zip(names, matrices, strict=True)}
        outputs = [f"states_{layer}", f"last_{layer}"]
        nodes.append(helper.make_node("LSTM", [f"hidden_{layer}", *names], outputs, hidden_size=HIDDEN))
        nodes.append(helper.make_node("Squeeze", [outputs[0], "direction"], [f"hidden_{layer + 1}"]))
    constants["direction"] = np.array([1], np.int64)
    nodes += [
        helper.make_node("Squeeze", [f"last_{LAYERS - 1}", "first_axis"], ["last"]),
        helper.make_node("MatMul", ["last", "projection"], ["projected"]),
        helper.make_node("Add", ["projected", "bias"], ["shifted"]),
        helper.make_node("Relu", ["shifted"], ["raw"]),
        helper.make_node("ReduceL2", ["raw"], ["length"], axes=[1], keepdims=1),
        helper.make_node("Max", ["length", "smallest"], ["positive_length"]),
        helper.make_node("Div", ["raw", "positive_length"], ["unit" if variation else "embedding"]),
    ]
    if variation:
        constants |= {
            "mean": variation["mean"],
            "onto": variation["directions"].T,
            "back": variation["directions"] * variation["damping"][:, np.newaxis],
        }
        nodes += [
            helper.make_node("Sub", ["unit", "mean"], ["centred"]),
            helper.make_node("MatMul", ["centred", "onto"], ["varying"]),
            helper.make_node("MatMul", ["varying", "back"], ["damped"]),
            helper.make_node("Sub", ["centred", "damped"], ["voice"]),
            helper.make_node("ReduceL2", ["voice"], ["voice_length"], axes=[1], keepdims=1),
            helper.make_node("Div", ["voice", "voice_length"], ["embedding"]),
        ]
    graph = helper.make_graph(
        nodes,
        "speaker",
        [helper.make_tensor_value_info("mel", TensorProto.FLOAT, ["windows", "frames", MELS])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["windows", HIDDEN])],
        [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model


def _gates(matrix: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Bring the gates from PyTorch's order (i, f, c, o) to that of ONNX (i, o, f, c)."""
    inputs, forget, cell, output = np.split(matrix, 4)
    return np.concatenate((inputs, output, forget, cell))


def build(target: Path, wheel: Path | None = None, *, plain: bool = False) -> bool:
    """Write the graph, unless it is there.

    Args:
        target: its folder.
        wheel: the wheel of the package; None to download it.
        plain: the embedding is Resemblyzer's own.

    Returns:
        Whether anything was written.

    Raises:
        WheelError: the weights cannot be had.
        CheckpointError: they have another form.
    """
    with np.load(VARIATION) as found:
        variation = None if plain else dict(found)
    fingerprint = hashlib.sha256(Path(__file__).read_bytes() + VARIATION.read_bytes()).hexdigest() + " plain" * plain
    files = [target / name for name in (NETWORK, _BUILT)]
    if all(file.exists() for file in files) and files[-1].read_text() == fingerprint:
        return False
    with whole_directory(target) as folder:
        with tempfile.TemporaryDirectory() as scratch:
            weights = read_checkpoint(wheel or download(PACKAGE, WHEEL_SHA256, Path(scratch)))
            model = network(weights, variation)
        onnx.save(model, folder / NETWORK)
        (folder / _BUILT).write_text(fingerprint)
    return True


def main() -> int:
    """Builds the network and says what was done; returns the exit status."""
    parser = argparse.ArgumentParser(description=f"Build the model of speakers from the wheel of {PACKAGE}.")
    parser.add_argument("--target", type=Path, default=TARGET, help="folder to build in (default: %(default)s)")
    parser.add_argument("--wheel", type=Path, help="the wheel, where it need not be downloaded")
    parser.add_argument("--plain", action="store_true", help="without what was fitted here; for fitting it")
    options = parser.parse_args()
    try:
        written = build(options.target, options.wheel, plain=options.plain)
    except (WheelError, CheckpointError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'Built' if written else 'Up to date:'} {options.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
