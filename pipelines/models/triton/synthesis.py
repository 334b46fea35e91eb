"""Client of the Triton model ``tts``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from pipelines.models.contracts import TTS
from pipelines.models.triton.packing import tensor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    import numpy.typing as npt

    from pipelines.models.synthesis_port import SpeechPart
    from pipelines.models.triton.client import TritonClient


class TritonSynthesizer:
    """Speech synthesis by a Triton model with the contract of ``tts``.

    Attributes:
        language: code of what it speaks: English, until :meth:`prepare` has read it.
    """

    def __init__(self, client: TritonClient, model: str = TTS) -> None:
        self._client = client
        self._model = model
        self.language = "en"

    async def prepare(self) -> None:
        """Read of the model's configuration which language it speaks."""
        self.language = await self._client.parameter(self._model, "language") or "en"

    async def speak(
        self, parts: Sequence[SpeechPart], voice: str, seed: int
    ) -> AsyncGenerator[npt.NDArray[np.float32], None]:
        """Speak parts; see ``pipelines.models.ports.Synthesizer``."""
        inputs = [
            tensor("TEXT", _strings(part.text for part in parts), "BYTES"),
            tensor("PHONEMES", _strings(part.phonemes for part in parts), "BYTES"),
            tensor("SPEED", np.array([part.speed for part in parts], np.float32), "FP32"),
            tensor("PAUSE_MS", np.array([round(1000 * part.pause_seconds) for part in parts], np.int32), "INT32"),
            tensor("VOICE", _strings((voice,)), "BYTES"),
            tensor("SEED", np.array([seed], np.int64), "INT64"),
        ]
        async with contextlib.aclosing(self._client.stream(self._model, inputs)) as responses:
            async for response in responses:
                yield response.as_numpy("AUDIO")


def _strings(values: Iterable[str]) -> npt.NDArray[np.object_]:
    return np.array([value.encode() for value in values], np.object_)
