"""The models of one Triton under the names of the shipped repository."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.triton.client import TritonClient
from pipelines.triton.engines import TritonAnswers, TritonIntents, TritonRecognizer

if TYPE_CHECKING:
    from collections.abc import Sequence

MODEL_NAMES = ("asr", "intent_slot", "qa")
"""The models that must be ready before anybody is served: one for each engine."""

_PROBE_PAUSE_SECONDS = 0.1


class TritonModels:
    """Recognition, understanding and answering on one Triton.

    Args:
        address: ``host:port`` of its gRPC endpoint.

    Attributes:
        recognizer: speech recognition.
        intents: intent classification and slot filling.
        answers: extractive question answering.
    """

    def __init__(self, address: str) -> None:
        self._client = TritonClient(address)
        self.recognizer = TritonRecognizer(self._client)
        self.intents = TritonIntents(self._client)
        self.answers = TritonAnswers(self._client)

    async def missing(self) -> Sequence[str]:
        """Returns the names of the models that are not ready; all of them when Triton cannot be reached."""
        return await self._client.missing(MODEL_NAMES)

    async def wait_until_ready(self) -> None:
        """Waits until every model is ready."""
        while True:
            if not await self.missing():
                return
            await asyncio.sleep(_PROBE_PAUSE_SECONDS)

    async def close(self) -> None:
        """Closes the connection."""
        await self._client.close()
