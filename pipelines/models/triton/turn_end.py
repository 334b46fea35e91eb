"""Client of the Triton model ``end_of_turn``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.models.contracts import END_OF_TURN
from pipelines.models.triton.packing import tensor, timing
from pipelines.models.turn_end_port import MAX_JUDGED_SECONDS, TurnEnd

if TYPE_CHECKING:
    import numpy.typing as npt

    from pipelines.models.triton.client import TritonClient

_MAX_SAMPLES = round(MAX_JUDGED_SECONDS * MODEL_RATE_HZ)
_FULL_SCALE = 32_767


class TritonEndOfTurn:
    """End-of-turn detection by a model with the contract of ``end_of_turn``."""

    def __init__(self, client: TritonClient, model: str = END_OF_TURN) -> None:
        self._client = client
        self._model = model

    async def judge(self, samples: npt.NDArray[np.float32], text: str, due: float | None = None) -> TurnEnd:
        """Judge a pause; see ``pipelines.models.turn_end_port.EndOfTurnModel``."""
        began = time.monotonic()
        # Half the bytes of float32, and finer than any recording.
        sound = np.clip(samples[-_MAX_SAMPLES:], -1.0, 1.0) * _FULL_SCALE
        inputs = [
            tensor("AUDIO", np.rint(sound).astype(np.int16)[np.newaxis], "INT16"),
            tensor("TEXT", np.array([[text.encode()]], np.object_), "BYTES"),
        ]
        result = await self._client.infer(self._model, inputs, due=due)
        return TurnEnd(float(result.as_numpy("PROBABILITY").reshape(-1)[0]), timing(began, result))
