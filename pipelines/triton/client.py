"""The connection to one Triton: requests to its models, and the control of which models it holds."""

from __future__ import annotations

import asyncio
import collections
import logging
from typing import TYPE_CHECKING

import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from pipelines.deadline import deadline
from pipelines.errors import ModelControlError, ModelError, ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tritonclient.grpc import model_config_pb2

logger = logging.getLogger(__name__)

_REQUEST_TIMEOUT_SECONDS = 30.0
_LOAD_TIMEOUT_SECONDS = 120.0
_UNLOAD_TIMEOUT_SECONDS = 30.0
_PROBE_TIMEOUT_SECONDS = 2.0
_UNLOADED_POLL_SECONDS = 0.1
_FAREWELL_SECONDS = 5.0
_MAX_ABANDONED = 256
"""Requests that nobody waits for any more and Triton has not answered yet; beyond that new ones wait."""
# A Triton that starts again is found again within half a second; gRPC's own pauses grow to two minutes.
_CHANNEL_OPTIONS = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]
_LATE = "StatusCode.DEADLINE_EXCEEDED"
_UNREACHABLE = {"StatusCode.UNAVAILABLE", _LATE, "StatusCode.CANCELLED"}


class TritonClient:
    """Talks to one Triton.

    Args:
        address: ``host:port`` of its gRPC endpoint.
        on_dead_model: called with the name of a model whose process has ended or hangs, after which Triton refuses
            whatever the model is asked, or waits for ever, until it is started again itself; returns whether it is.
    """

    def __init__(self, address: str, on_dead_model: Callable[[str], bool] = lambda _: False) -> None:
        self._on_dead_model = on_dead_model
        self._client = triton.InferenceServerClient(address, channel_args=_CHANNEL_OPTIONS)
        self._abandoned: set[asyncio.Task[triton.InferResult]] = set()
        self._instances: dict[str, int] = {}
        self._answered_at: dict[str, float] = {}

    async def close(self) -> None:
        """Closes the connection, once Triton has answered what nobody waits for or has taken too long for it."""
        if self._abandoned:
            await asyncio.wait(self._abandoned, timeout=_FAREWELL_SECONDS)
        await self._client.close()

    async def missing(self, names: Sequence[str]) -> Sequence[str]:
        """Returns those of ``names`` that are not ready; all of them when Triton cannot be reached."""
        try:
            ready = [await self._client.is_model_ready(name, client_timeout=_PROBE_TIMEOUT_SECONDS) for name in names]
        except InferenceServerException:
            return names
        return [name for name, is_ready in zip(names, ready, strict=True) if not is_ready]

    async def max_batch_size(self, model: str) -> int:
        """Returns how many rows one request to a model may have; 0 if it takes no batches.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
            ModelError: there is no such model.
        """
        try:
            answer = await self._client.get_model_config(model, client_timeout=_PROBE_TIMEOUT_SECONDS)
        except InferenceServerException as error:
            raise _model_error(model, error) from error
        return int(answer.config.max_batch_size)

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

        Triton is not told when the caller is cancelled: where a cancellation meets the taking in of its request, the
        whole server may end (triton-inference-server/server, issues 7368 and 8034; seen here with 2.51).

        Raises:
            ModelUnavailableError: Triton cannot be reached or did not answer in time, or the model's process has ended
                or hangs.
            ModelError: the model refused the request or failed.
        """
        if not correlation_id:
            while len(self._abandoned) >= _MAX_ABANDONED:
                await asyncio.wait(self._abandoned, return_when=asyncio.FIRST_COMPLETED)
        call = self._client.infer(
            model,
            list(inputs),
            sequence_id=correlation_id,
            sequence_start=start,
            sequence_end=end,
            client_timeout=_REQUEST_TIMEOUT_SECONDS,
            parameters=_parameters(),
        )
        return await self._unless_abandoned(asyncio.create_task(self._answer(model, call)))

    async def _answer(self, model: str, call: Awaitable[triton.InferResult]) -> triton.InferResult:
        """Waits for Triton's answer, also where nobody else does any more: it may tell that the model is dead."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        try:
            result = await call
        except InferenceServerException as error:
            if error.status() not in _UNREACHABLE:
                self._answered_at[model] = loop.time()
            elif error.status() != _LATE:
                # The Triton that comes back may be as slow to start as the first one.
                self._answered_at.clear()
            raise self._failure(model, error, asked_at) from error
        self._answered_at[model] = loop.time()
        return result

    def _failure(self, model: str, error: InferenceServerException, asked_at: float) -> ModelError:
        """Makes of what Triton says our own error, and has Triton started again where the model is dead."""
        # A model that is slow has answered somebody else meanwhile; one that never has may only be slow to start.
        hangs = error.status() == _LATE and self._answered_at.get(model, asked_at) < asked_at
        failure = _model_error(model, error)
        if not (hangs or _tells_of_dead_model(error)) or not self._on_dead_model(model):
            return failure
        self._answered_at.clear()
        what = f"hangs: nobody had an answer for {_REQUEST_TIMEOUT_SECONDS:g} s" if hangs else "has ended"
        logger.error("the process of the model %s %s", model, what)
        return ModelUnavailableError(f"the process of the model {model} {what}: try again soon")

    async def _unless_abandoned(self, call: asyncio.Task[triton.InferResult]) -> triton.InferResult:
        """Waits for a call, which goes on to its end when the waiting is cancelled."""
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            self._abandoned.add(call)
            call.add_done_callback(self._forget)
            raise

    def _forget(self, call: asyncio.Task[triton.InferResult]) -> None:
        self._abandoned.discard(call)
        if not call.cancelled():
            call.exception()  # Nobody is left to be told of it.

    async def busy_seconds(self) -> Mapping[str, float]:
        """Returns for how long each model has computed since it was loaded, on average of its instances.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
        """
        busy: collections.Counter[str] = collections.Counter()
        try:
            statistics = await self._client.get_inference_statistics(client_timeout=_PROBE_TIMEOUT_SECONDS)
            for model in statistics.model_stats:
                # By executions: the counters by request would count a batch as often as it holds requests.
                busy[model.name] += sum(batch.compute_infer.ns for batch in model.batch_stats)
            return {name: ns / 1e9 / await self._count_instances(name) for name, ns in busy.items()}
        except InferenceServerException as error:
            # When it is back, its models may have other settings.
            self._instances.clear()
            raise ModelUnavailableError("the model server cannot be reached for its statistics") from error

    async def _count_instances(self, model: str) -> int:
        if model not in self._instances:
            answer = await self._client.get_model_config(model, client_timeout=_PROBE_TIMEOUT_SECONDS)
            self._instances[model] = _instances(answer.config)
        return self._instances[model]

    async def load(self, model: str) -> None:
        """Loads a model of the repository, and waits until it is ready.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or took too long.
            ModelControlError: it cannot be loaded; the message holds Triton's reason.
        """
        try:
            await self._client.load_model(model, client_timeout=_LOAD_TIMEOUT_SECONDS)
        except InferenceServerException as error:
            raise _control_error(f"Triton cannot load {model}", error) from error

    async def unload(self, models: Sequence[str]) -> None:
        """Unloads models, and waits until their processes have ended. What is not there is unloaded already.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or took too long.
            ModelControlError: Triton will not unload models.
        """
        names = ", ".join(models)
        try:
            async with asyncio.timeout(_UNLOAD_TIMEOUT_SECONDS):
                for model in models:
                    await self._client.unload_model(model, client_timeout=_UNLOAD_TIMEOUT_SECONDS)
                while await self._holds_any(models):  # noqa: ASYNC110 - Triton's index can only be asked
                    await asyncio.sleep(_UNLOADED_POLL_SECONDS)
        except InferenceServerException as error:
            raise _control_error(f"Triton cannot unload {names}", error) from error
        except TimeoutError:
            raise ModelUnavailableError(f"Triton does not come to the end of unloading {names}") from None

    async def _holds_any(self, models: Sequence[str]) -> bool:
        """Whether Triton still holds one of the models in some state; its index keeps the names of unloaded ones."""
        index = await self._client.get_model_repository_index(client_timeout=_PROBE_TIMEOUT_SECONDS)
        return any(entry.name in models and entry.state not in {"", "UNAVAILABLE"} for entry in index.models)


def _parameters() -> dict[str, int] | None:
    """Returns the deadline for the models to read: an ensemble hands it on to its steps, Triton's own time-outs cost.

    A queue policy with time-outs turns prefetching off, as a limit does: see docs/performance.md.
    """
    until = deadline()
    return None if until is None else {"deadline_us": int(until * 1e6)}


def _instances(config: model_config_pb2.ModelConfig) -> int:
    """Counts the instances of a model; a group has its count on each of the GPUs that it names."""
    groups = ((int(group.count), len(group.gpus)) for group in config.instance_group)
    return max(1, sum(max(1, count) * max(1, gpus) for count, gpus in groups))


def _model_error(model: str, error: InferenceServerException) -> ModelError:
    if error.status() in _UNREACHABLE:
        return ModelUnavailableError(f"the model server cannot be reached for {model}: try again soon")
    logger.error("the model %s failed: %s", model, error.message())
    return ModelError(f"the model {model} failed: the service's log has the details")


def _tells_of_dead_model(error: InferenceServerException) -> bool:
    """Whether Triton's Python backend says that the process of a model is gone; it never makes another by itself."""
    message = error.message() or ""
    return "Stub process" in message and "is not healthy" in message


def _control_error(what: str, error: InferenceServerException) -> ModelError:
    message = error.message() or ""
    # Triton says of this too that it is UNAVAILABLE.
    if "explicit model load / unload is not allowed" in message:
        return ModelControlError(f"{what}: it does not run with --model-control-mode=explicit")
    if error.status() in _UNREACHABLE or not message:
        return ModelUnavailableError(f"{what}: it cannot be reached, or did not answer in time: try again soon")
    return ModelControlError(f"{what}: {_first_line(message)}")


def _first_line(message: str) -> str:
    """Cuts the traceback off that a Python model adds to its reason."""
    return message.replace("\\n", "\n").strip().splitlines()[0].strip()
