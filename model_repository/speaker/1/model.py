"""Triton model ``speaker``: computes speaker embeddings with ``engines.speaker``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.accelerators.choice import Accelerator
from engines.bert import serving
from engines.speaker.embedder import WINDOW_SAMPLES, SpeakerEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_FULL_SCALE = np.float32(32_767)


class TritonPythonModel:
    """Embeds the windows of all requests of a batch."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the network, which lies beside this file."""
        threads = int(serving.parameters(args)["threads"])
        self._embedder = SpeakerEmbedder(serving.version_directory(args), threads, Accelerator.of(args))
        # The first run takes longer than all later ones.
        self._embedder.embed([np.zeros(WINDOW_SAMPLES, np.float32)])

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer every request; one that cannot be read gets its own error, and the others are served."""
        return serving.embeddings(requests, _windows, self._embedder.embed)


def _windows(request: object) -> list[npt.NDArray[np.float32]]:
    """Return the windows of a request."""
    windows, counts = serving.tensor(request, "AUDIO"), serving.tensor(request, "SAMPLES").reshape(-1)
    if not all(0 < count <= WINDOW_SAMPLES for count in counts):
        raise serving.BadRequestError(f"SAMPLES must be 1 to {WINDOW_SAMPLES}: send windows with sound")
    return [window[:count].astype(np.float32) / _FULL_SCALE for window, count in zip(windows, counts, strict=True)]
