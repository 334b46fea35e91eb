"""Sessions of networks on onnxruntime or an accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import onnxruntime as ort

from engines.accelerators.choice import Accelerator, AcceleratorError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Provider = str | tuple[str, Mapping[str, object]]

ONNX_RUNTIME = Accelerator()
"""Onnxruntime on the CPU, where no accelerator is named."""
HIDDEN, NEXT_HIDDEN = "hidden_state", "next_hidden_state"
"""What a stage of a network that was cut reads of the stage before, and gives to the next one."""
STAGE = "stage.onnx"
"""File of a stage, in the folder of its model's version."""
_PROVIDERS = {"cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}
_INSTALL = {"cuda": "onnxruntime-gpu", "tensorrt": "onnxruntime-gpu tensorrt"}


class Node(Protocol):
    """Input or output of a network."""

    @property
    def name(self) -> str:
        """Name of the tensor."""

    @property
    def shape(self) -> Sequence[int | str]:
        """Sizes of its axes, or their names."""


class Network(Protocol):
    """A network that is computed by calls of ``run``, from any thread."""

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[npt.NDArray[Any]]:
        """Compute the named outputs, all where none are named."""


class Session(Network, Protocol):
    """A network that tells its inputs and outputs."""

    def get_inputs(self) -> Sequence[Node]:
        """Return the inputs."""

    def get_outputs(self) -> Sequence[Node]:
        """Return the outputs."""


def load_session(
    path: Path,
    threads: int,
    *,
    arena: bool = False,
    accelerator: Accelerator = ONNX_RUNTIME,
    runs: int = 1,
    options: Mapping[str, object] | None = None,
) -> Session:
    """Load a graph that works on one batch with so many threads.

    Args:
        path: of the graph.
        threads: that work on one batch.
        arena: keep freed memory for the next run, and plan it, which suits a graph whose shapes hardly change.
        accelerator: what computes.
        runs: batches that are computed at a time.
        options: more of the accelerator's own, where that is TensorRT.

    Raises:
        AcceleratorError: the accelerator cannot be used here; the message says what can be.
    """
    if not accelerator.name:
        return cast("Session", load_onnx_session(path, threads, arena=arena))
    # onnx, and OpenVINO with its own libraries, are loaded where an accelerator is named.
    if accelerator.name == "openvino":
        from engines.accelerators.openvino_session import OpenVinoSession, try_out  # noqa: PLC0415

        try_out(path, accelerator, threads)
        return OpenVinoSession(path, accelerator, threads, runs)
    from engines.accelerators.portable import float32_graph  # noqa: PLC0415

    providers = gpu_providers(accelerator, path.parent / "tensorrt", options or {})
    session = load_onnx_session(float32_graph(path), threads, arena=arena, providers=providers)
    if session.get_providers()[0] != _PROVIDERS[accelerator.name]:
        # onnxruntime goes on without a provider whose libraries or device are missing.
        raise AcceleratorError(
            f"{accelerator.name} cannot be used here, see the log: install its libraries and driver, or leave the "
            "accelerator out"
        )
    return cast("Session", session)


def load_onnx_session(
    graph: Path | bytes,
    threads: int,
    *,
    arena: bool = False,
    providers: Sequence[Provider] = ("CPUExecutionProvider",),
) -> ort.InferenceSession:
    """Load a graph or its file on onnxruntime; see :func:`load_session`."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads must sleep: the other models share the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Where every batch has another shape, an arena or a memory plan for each would only grow.
    options.enable_cpu_mem_arena = arena
    options.enable_mem_pattern = arena
    return ort.InferenceSession(graph if isinstance(graph, bytes) else str(graph), options, providers=list(providers))


def available_on_gpu() -> list[str]:
    """Return the accelerators that this onnxruntime has for a GPU."""
    return [name for name, provider in _PROVIDERS.items() if provider in ort.get_available_providers()]


def gpu_providers(accelerator: Accelerator, cache: Path, options: Mapping[str, object]) -> list[Provider]:
    """Return onnxruntime's execution providers, the wanted one first.

    Args:
        accelerator: CUDA or TensorRT.
        cache: folder for the engines that TensorRT builds at the first start, in minutes.
        options: more of TensorRT's.

    Raises:
        AcceleratorError: this onnxruntime has no such provider.
    """
    wanted, available = _PROVIDERS[accelerator.name], ort.get_available_providers()
    if wanted not in available:
        raise AcceleratorError(
            f"{accelerator.name} is not installed, and there is {', '.join(available)}: "
            f"pip install {_INSTALL[accelerator.name]}, or leave the accelerator out"
        )
    device = {"device_id": accelerator.ordinal}
    providers: list[Provider] = [("CUDAExecutionProvider", device), "CPUExecutionProvider"]
    if accelerator.name == "tensorrt":
        own = {
            **device,
            "trt_fp16_enable": accelerator.precision == "fp16",
            "trt_engine_cache_enable": True,
            "trt_engine_cache_path": str(cache),
            **options,
        }
        providers.insert(0, (wanted, own))
    return providers
