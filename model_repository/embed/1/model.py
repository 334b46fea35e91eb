"""Triton model ``embed``: computes sentence embeddings with ``engines.embed``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from engines.bert import serving
from engines.embed.embedder import FOLDER, Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


class TritonPythonModel:
    """Embeds the texts of all requests of a batch in one run of the network."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the network and its tokenizer, which lie beside this file."""
        threads = int(serving.parameters(args)["threads"])
        self._embedder = Embedder(serving.version_directory(args) / FOLDER, threads)

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer every request; one that is overdue or not UTF-8 gets its own error, and the others are served."""
        began = time.perf_counter()
        read = [_read(request) for request in requests]
        vectors = self._embedder.embed([text for one in read if isinstance(one, list) for text in one])
        compute_ms = (time.perf_counter() - began) * 1000
        responses, at = [], 0
        for one in read:
            if isinstance(one, list):
                responses.append(_response(vectors[at : at + len(one)], compute_ms))
                at += len(one)
            else:
                responses.append(serving.overdue() if one is None else serving.refusal(one))
        return responses


def _read(request: object) -> list[str] | Exception | None:
    """Return the texts of a request; None where nobody waits for them any more."""
    try:
        return None if serving.is_overdue(request) else serving.texts(request, "TEXT")
    except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
        return error


def _response(vectors: npt.NDArray[np.float32], compute_ms: float) -> object:
    return serving.response({"EMBEDDING": vectors, "COMPUTE_MS": np.full((len(vectors), 1), compute_ms, np.float32)})
