"""The models, served by Triton. The only file that knows Triton's client."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from typing import TYPE_CHECKING

import numpy as np
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from pipelines.errors import ModelError, ModelUnavailableError
from pipelines.ports import AnswerSpan, Hypothesis, IntentPrediction, SlotSpan, Timing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

logger = logging.getLogger(__name__)

MODEL_NAMES = ("asr", "intent_slot", "qa")
"""The models that must be ready before anybody is served."""

_REQUEST_TIMEOUT_SECONDS = 30.0
_PROBE_TIMEOUT_SECONDS = 2.0
_PROBE_PAUSE_SECONDS = 0.1
_CORRELATION_BITS = 63
# A Triton that starts again is found again within half a second; gRPC's own pauses grow to two minutes.
_CHANNEL_OPTIONS = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]
_UNREACHABLE = {"StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED", "StatusCode.CANCELLED"}


class TritonModels:
    """Recognition, understanding and answering on one Triton.

    Args:
        address: ``host:port`` of its gRPC endpoint.
    """

    def __init__(self, address: str) -> None:
        self._client = triton.InferenceServerClient(address, channel_args=_CHANNEL_OPTIONS)

    @property
    def recognizer(self) -> TritonModels:
        """Speech recognition."""
        return self

    @property
    def intents(self) -> TritonModels:
        """Intent classification and slot filling."""
        return self

    @property
    def answers(self) -> TritonModels:
        """Extractive question answering."""
        return self

    async def missing(self) -> Sequence[str]:
        """Returns the names of the models that are not ready; all of them when Triton cannot be reached."""
        try:
            ready = [
                await self._client.is_model_ready(name, client_timeout=_PROBE_TIMEOUT_SECONDS) for name in MODEL_NAMES
            ]
        except InferenceServerException:
            return MODEL_NAMES
        return [name for name, is_ready in zip(MODEL_NAMES, ready, strict=True) if not is_ready]

    async def wait_until_ready(self) -> None:
        """Waits until every model is ready."""
        while True:
            if not await self.missing():
                return
            await asyncio.sleep(_PROBE_PAUSE_SECONDS)

    async def close(self) -> None:
        """Closes the connection."""
        await self._client.close()

    def open_sequence(self) -> TritonSequence:
        """Begins a sequence of the model ``asr`` under a correlation ID of its own."""
        return TritonSequence(self)

    async def predict(self, text: str) -> IntentPrediction:
        """Finds intent and slots with the ensemble ``intent_slot``."""
        began = time.monotonic()
        result = await self.infer("intent_slot", [_text("TEXT", text, batched=True)])
        names = [name.decode() for name in result.as_numpy("SLOT_NAMES")[0]]
        spans = result.as_numpy("SLOT_SPANS")[0]
        return IntentPrediction(
            intent=result.as_numpy("INTENT")[0, 0].decode(),
            confidence=float(result.as_numpy("CONFIDENCE")[0, 0]),
            slots=tuple(SlotSpan(name, int(start), int(end)) for name, (start, end) in zip(names, spans, strict=True)),
            timing=_timing(began, result),
        )

    async def find(self, question: str, document: str) -> AnswerSpan:
        """Looks for an answer with the ensemble ``qa``."""
        began = time.monotonic()
        result = await self.infer("qa", [_text("QUESTION", question), _text("DOCUMENT", document)])
        start, end = (int(position) for position in result.as_numpy("ANSWER_SPAN").reshape(-1))
        score = float(result.as_numpy("SCORE").reshape(-1)[0])
        timing = _timing(began, result)
        return AnswerSpan(None, None, score, timing) if start < 0 else AnswerSpan(start, end, score, timing)

    async def infer(
        self,
        model: str,
        inputs: Sequence[triton.InferInput],
        *,
        correlation_id: int = 0,
        start: bool = False,
        end: bool = False,
    ) -> triton.InferResult:
        """Runs one request; a correlation ID other than 0 makes it part of that sequence.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
            ModelError: the model refused the request or failed.
        """
        try:
            return await self._client.infer(
                model,
                list(inputs),
                sequence_id=correlation_id,
                sequence_start=start,
                sequence_end=end,
                client_timeout=_REQUEST_TIMEOUT_SECONDS,
            )
        except InferenceServerException as error:
            if error.status() in _UNREACHABLE:
                raise ModelUnavailableError(
                    f"the model server cannot be reached for {model}: try again soon"
                ) from error
            logger.error("the model %s failed: %s", model, error.message())  # noqa: TRY400 - Triton's message is the trace
            raise ModelError(f"the model {model} failed: the service's log has the details") from error


class TritonSequence:
    """One sequence of the model ``asr``: START with the first request, END with the last."""

    def __init__(self, models: TritonModels) -> None:
        self._models = models
        # 0 would mean "no sequence", and an ID in use would inherit the state of another.
        self._correlation_id = secrets.randbelow((1 << _CORRELATION_BITS) - 1) + 1
        self._begun = False

    async def send(self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool) -> Hypothesis:
        """Sends the next audio; see ``pipelines.ports.SpeechSequence``."""
        began = time.monotonic()
        start, self._begun = not self._begun, True
        result = await self._models.infer(
            "asr",
            [_tensor("AUDIO", audio[np.newaxis], "FP32"), _tensor("DECODE", np.array([[decode]]), "BOOL")],
            correlation_id=self._correlation_id,
            start=start,
            end=end,
        )
        return Hypothesis(
            text=result.as_numpy("TRANSCRIPT")[0, 0].decode(),
            covered_samples=int(result.as_numpy("DECODED_SAMPLES")[0, 0]),
            is_final=bool(result.as_numpy("IS_FINAL")[0, 0]),
            timing=_timing(began, result),
        )


def _tensor(name: str, values: npt.NDArray[np.generic], datatype: str) -> triton.InferInput:
    tensor = triton.InferInput(name, values.shape, datatype)
    tensor.set_data_from_numpy(values)
    return tensor


def _text(name: str, text: str, *, batched: bool = False) -> triton.InferInput:
    values = np.array([text.encode()], np.object_)
    return _tensor(name, values.reshape(1, 1) if batched else values, "BYTES")


def _timing(began: float, result: triton.InferResult) -> Timing:
    """Splits the time since ``began`` into the engine's own work and all the rest."""
    total = time.monotonic() - began
    compute = min(total, float(result.as_numpy("COMPUTE_MS").reshape(-1)[0]) / 1000)
    return Timing(total - compute, compute)
