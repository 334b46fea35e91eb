"""Triton model of both BERT networks: one run for all rows of a batch.

Imports Triton's ``triton_python_backend_utils`` through ``engines.bert.serving``: for use inside Triton alone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from engines.accelerators.choice import Accelerator
from engines.bert import serving
from engines.bert.network_files import network_file
from engines.bert.session import BertSession
from engines.gpu.device import Placement, cuda_devices, usable_device

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt


class _Network(Protocol):
    """Computes batches; where it returns None, the answers follow by themselves."""

    def execute(self, requests: Sequence[object]) -> list[object] | None:
        """Compute the rows of all requests in one batch."""

    def close(self) -> None:
        """End when everything is answered."""


class TritonPythonModel:
    """Network over all rows of a batch, on a GPU where there is one."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the network that lies in the directory of the model's version."""
        self._network = _open(serving.version_directory(args), args, serving.parameters(args))

    def execute(self, requests: Sequence[object]) -> list[object] | None:
        """Compute the rows of all requests in one batch."""
        return self._network.execute(requests)

    def finalize(self) -> None:
        """Answer what is under way."""
        self._network.close()


class _OnnxNetwork:
    """A network in ONNX, whose batches are computed one after another."""

    def __init__(self, version: Path, threads: int, accelerator: Accelerator) -> None:
        self._session = BertSession(network_file(version), threads, accelerator)

    def execute(self, requests: Sequence[object]) -> list[object]:
        """See :class:`_Network`."""
        responses: list[object] = []
        computed: dict[int, Mapping[str, npt.NDArray[Any]]] = {}
        for index, request in enumerate(requests):
            try:
                if not serving.is_overdue(request):
                    computed[index] = {name: serving.tensor(request, name.upper()) for name in self._session.inputs}
                responses.append(serving.overdue())
            except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
                responses.append(serving.refusal(error))
        if computed:
            began = time.perf_counter()
            results = self._session.run(list(computed.values()))
            compute_ms = (time.perf_counter() - began) * 1000
            for index, result in zip(computed, results, strict=True):
                responses[index] = serving.network_response(result, compute_ms)
        return responses

    def close(self) -> None:
        """See :class:`_Network`."""


def _open(version: Path, args: Mapping[str, str], parameters: Mapping[str, str]) -> _Network:
    placement, accelerator = Placement.of(args, parameters), Accelerator.of(args)
    device = usable_device(placement.beside(accelerator), version, cuda_devices())
    if device is None:
        if placement.device == "tensorrt":
            accelerator = Accelerator("tensorrt", "fp16", ordinal=placement.ordinal)
        return _OnnxNetwork(version, int(parameters["threads"]), accelerator)
    from engines.bert.gpu.serving import OverlappedNetwork  # noqa: PLC0415 - needs PyTorch, which a CPU never loads

    return OverlappedNetwork(version, parameters, device)
