"""Triton model ``speaker``: computes speaker embeddings with ``engines.speaker``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from engines.bert import serving
from engines.speaker.embedder import WINDOW_SAMPLES, SpeakerEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Windows = list[npt.NDArray[np.float32]]

_FULL_SCALE = np.float32(32_767)


class TritonPythonModel:
    """Embeds the windows of all requests of a batch."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the network, which lies beside this file."""
        self._embedder = SpeakerEmbedder(serving.version_directory(args), int(serving.parameters(args)["threads"]))
        # The first run takes longer than all later ones.
        self._embedder.embed([np.zeros(WINDOW_SAMPLES, np.float32)])

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer every request; one that cannot be read gets its own error, and the others are served."""
        began = time.perf_counter()
        read = [_read(request) for request in requests]
        vectors = self._embedder.embed([window for one in read if isinstance(one, list) for window in one])
        compute_ms = (time.perf_counter() - began) * 1000
        responses, at = [], 0
        for one in read:
            if isinstance(one, list):
                responses.append(_response(vectors[at : at + len(one)], compute_ms))
                at += len(one)
            else:
                responses.append(serving.overdue() if one is None else serving.refusal(one))
        return responses


def _read(request: object) -> Windows | Exception | None:
    """Return the windows of a request; None where nobody waits for them any more."""
    try:
        if serving.is_overdue(request):
            return None
        windows, counts = serving.tensor(request, "AUDIO"), serving.tensor(request, "SAMPLES").reshape(-1)
        if not all(0 < count <= WINDOW_SAMPLES for count in counts):
            return serving.BadRequestError(f"SAMPLES must be 1 to {WINDOW_SAMPLES}: send windows with sound")
        read = zip(windows, counts, strict=True)
        return [window[:count].astype(np.float32) / _FULL_SCALE for window, count in read]
    except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
        return error


def _response(vectors: npt.NDArray[np.float32], compute_ms: float) -> object:
    return serving.response({"EMBEDDING": vectors, "COMPUTE_MS": np.full((len(vectors), 1), compute_ms, np.float32)})
