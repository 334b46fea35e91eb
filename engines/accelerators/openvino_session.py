"""OpenVINO on the CPU, with the methods of onnxruntime's sessions."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import onnx

from engines.accelerators.choice import PRECISIONS, Accelerator, AcceleratorError
from engines.accelerators.portable import NotPortableError, portable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

_CAPABILITIES = {"fp32": "FP32", "bf16": "BF16", "fp16": "FP16", "int8": "INT8"}
"""What OpenVINO calls precisions among the capabilities of a processor."""
_HINTS = {"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32"}
_TRIAL_SECONDS = 120
_CURE = "leave the accelerator out, and onnxruntime computes the model"


class Node(NamedTuple):
    """Input or output of a network: name, and sizes or names of its axes."""

    name: str
    shape: list[int | str]


class OpenVinoSession:
    """A graph on OpenVINO (``engines.session.Session``).

    Args:
        path: an ``.onnx`` file of ours, in 8 bits or float32.
        accelerator: with its precision.
        threads: cores that one run may use.
        runs: how many runs there are at a time.

    Raises:
        AcceleratorError: OpenVINO is not installed, the processor lacks the precision, or the graph cannot be loaded.
    """

    def __init__(self, path: Path, accelerator: Accelerator, threads: int, runs: int = 1) -> None:
        core = _core()
        check_precision(accelerator.precision, processor_capabilities())
        try:
            model = portable(_read(path), quantized=accelerator.precision == "int8")
        except NotPortableError as error:
            raise AcceleratorError(
                f"OpenVINO cannot compute {path} in {accelerator.precision}: {error}: {_CURE}"
            ) from (None)
        self._inputs, self._outputs = _nodes(model.graph.input), _nodes(model.graph.output)
        options = {
            "INFERENCE_PRECISION_HINT": _HINTS[accelerator.precision],
            "INFERENCE_NUM_THREADS": runs * (accelerator.threads or threads),
            "NUM_STREAMS": runs,
            # The processes of all models share the cores: threads that stay on one would meet there.
            "ENABLE_CPU_PINNING": False,
        }
        try:
            self._compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", options)
        except Exception as error:  # the library raises classes of its own
            reason = " ".join(str(error).split())[-300:]
            raise AcceleratorError(f"OpenVINO cannot load {path} ({reason}): {_CURE}") from error
        self._read = {name for port in self._compiled.inputs for name in port.get_names()}
        self._requests = threading.local()

    def get_inputs(self) -> list[Node]:
        """Return the inputs."""
        return self._inputs

    def get_outputs(self) -> list[Node]:
        """Return the outputs."""
        return self._outputs

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[npt.NDArray[Any]]:
        """Compute outputs, all where no names are given."""
        request = getattr(self._requests, "request", None)
        if request is None:
            request = self._requests.request = self._compiled.create_infer_request()
        found: Mapping[str, npt.NDArray[np.generic]] = request.infer(
            {name: value for name, value in feeds.items() if name in self._read}, share_inputs=True
        )
        return [found[name] for name in names or [node.name for node in self._outputs]]


def processor_capabilities() -> list[str]:
    """Return the precisions that this processor computes, as OpenVINO calls them."""
    return list(_core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))


def check_precision(precision: str, capabilities: Sequence[str]) -> None:
    """Check that a processor computes a precision.

    Args:
        precision: a ``precision_mode``.
        capabilities: of the processor, as OpenVINO tells them.

    Raises:
        AcceleratorError: it does not; the message names those that it does.
    """
    if _CAPABILITIES[precision] not in capabilities:
        able = [name for name in PRECISIONS["openvino"] if _CAPABILITIES[name] in capabilities]
        raise AcceleratorError(
            f"this processor does not compute {precision}: set precision_mode to one of {', '.join(able)}"
        )


def try_out(path: Path, accelerator: Accelerator, threads: int) -> None:
    """Load a graph in a process of its own, which may crash, before this one does.

    Raises:
        AcceleratorError: it crashed, hangs, or was refused.
    """
    # Inside Triton sys.executable is a program that only runs models.
    python = next(file for file in (Path(sys.prefix, "bin", "python3"), Path(sys.executable)) if file.is_file())
    command = [str(python), "-m", __name__, str(path), accelerator.precision, str(threads)]
    try:
        tried = subprocess.run(  # noqa: S603 - this module
            command,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise AcceleratorError(f"OpenVINO has not loaded {path} after {_TRIAL_SECONDS} s: {_CURE}") from None
    if tried.returncode < 0:
        raise AcceleratorError(f"OpenVINO crashed with signal {-tried.returncode} while it loaded {path}: {_CURE}")
    if tried.returncode:
        raise AcceleratorError((tried.stderr.strip().splitlines() or [f"OpenVINO cannot load {path}: {_CURE}"])[-1])


def _core() -> Any:  # noqa: ANN401 - an optional package
    try:
        return importlib.import_module("openvino").Core()
    except ImportError as error:
        raise AcceleratorError(
            f"OpenVINO cannot be imported ({error}): run pip install 'vivavoce-server[openvino]', or {_CURE}"
        ) from error


def _read(path: Path) -> onnx.ModelProto:
    try:
        return onnx.load(path)
    except Exception as error:  # protobuf's own classes, and those of the system
        raise AcceleratorError(f"{path} cannot be read ({error}): import the engine again") from error


def _nodes(values: Sequence[onnx.ValueInfoProto]) -> list[Node]:
    return [
        Node(value.name, [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim])
        for value in values
    ]


def main() -> None:
    """Load a graph and end."""
    parser = argparse.ArgumentParser(prog=f"python -m {__name__}", description=main.__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("precision")
    parser.add_argument("threads", type=int)
    options = parser.parse_args()
    try:
        OpenVinoSession(options.path, Accelerator("openvino", options.precision), options.threads)
    except AcceleratorError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
