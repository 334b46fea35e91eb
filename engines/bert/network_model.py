"""The Triton model that both BERT networks are: the rows of all requests of a batch in one run of the network.

Imports Triton's ``triton_python_backend_utils`` through ``engines.bert.serving``: for use inside Triton alone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from engines.bert import serving
from engines.bert.network_files import network_file
from engines.bert.session import BertSession

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


class TritonPythonModel:
    """Runs the network over the rows of all requests of a batch."""

    def initialize(self, args: dict[str, str]) -> None:
        """Loads the network that lies in the directory of the model's version."""
        path = network_file(serving.version_directory(args))
        self._session = BertSession(path, int(serving.parameters(args)["threads"]))

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Computes the rows of all requests in one batch."""
        began = time.perf_counter()
        results = self._session.run(
            [{name: serving.tensor(r, name.upper()) for name in self._session.inputs} for r in requests]
        )
        compute_ms = (time.perf_counter() - began) * 1000
        return [_response(result, compute_ms) for result in results]


def _response(result: dict[str, npt.NDArray[np.float32]], compute_ms: float) -> object:
    rows = len(next(iter(result.values())))
    outputs = {name.upper(): values for name, values in result.items()}
    return serving.response(outputs | {"COMPUTE_MS": np.full((rows, 1), compute_ms, np.float32)})
