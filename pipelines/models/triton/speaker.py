"""Client of the Triton model ``speaker``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from pipelines.models.contracts import SPEAKER
from pipelines.models.speaker_port import WINDOW_SAMPLES, SpeakerEmbeddings
from pipelines.models.triton.packing import tensor, timing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pipelines.models.triton.client import TritonClient

_FULL_SCALE = 32_767


class TritonSpeakers:
    """Speaker embeddings by a Triton model with the contract of ``speaker``."""

    def __init__(self, client: TritonClient, model: str = SPEAKER) -> None:
        self._client = client
        self._model = model

    async def embed(self, windows: Sequence[npt.NDArray[np.float32]], due: float | None = None) -> SpeakerEmbeddings:
        """Embed windows; see ``pipelines.models.speaker_port.SpeakerModel``."""
        began = time.monotonic()
        audio = np.zeros((len(windows), WINDOW_SAMPLES), np.int16)
        for row, window in zip(audio, windows, strict=True):
            sound = np.clip(window[:WINDOW_SAMPLES], -1.0, 1.0) * _FULL_SCALE
            row[: len(sound)] = np.rint(sound)
        counts = np.array([[min(len(window), WINDOW_SAMPLES)] for window in windows], np.int32)
        inputs = [tensor("AUDIO", audio, "INT16"), tensor("SAMPLES", counts, "INT32")]
        result = await self._client.infer(self._model, inputs, due=due)
        return SpeakerEmbeddings(result.as_numpy("EMBEDDING"), timing(began, result))
