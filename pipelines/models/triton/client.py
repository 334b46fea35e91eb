"""Requests to the models of one Triton."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tritonclient.utils import InferenceServerException

from pipelines.errors import ModelDeadError, ModelError, ModelUnavailableError
from pipelines.models.trace_context import trace_headers
from pipelines.models.triton.control import TritonControl
from pipelines.models.triton.failures import (
    LATE,
    UNREACHABLE,
    dead_model,
    model_error,
    tells_of_lost_sequence,
    tells_of_unloaded_model,
)
from pipelines.models.triton.streaming import StreamedResponses

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence

    import tritonclient.grpc.aio as triton


logger = logging.getLogger(__name__)

_AnswerT = TypeVar("_AnswerT")

_REQUEST_TIMEOUT_SECONDS = 30.0
_FAREWELL_SECONDS = 5.0
_RECOVERY_POLL_SECONDS = 0.05
_MAX_ABANDONED = 256
"""Requests that nobody waits for any more and Triton has not answered yet; beyond that new ones wait."""


class TritonClient(TritonControl):
    """Sends requests to the models of one Triton, and controls them.

    Args:
        address: ``host:port`` or ``unix:path`` of its gRPC endpoint.
        on_dead_model: see the attribute.
        clock: seconds that pass steadily, from whenever.

    Attributes:
        on_dead_model: called with the name of a model whose process has ended or hangs, after which Triton refuses
            whatever the model is asked, or waits for ever, until it is loaded anew; returns whether that is done.
        open_sequences: correlation IDs that were begun and not ended.
        mending: models that are being loaded anew because their process has ended or hangs.
    """

    def __init__(
        self,
        address: str,
        on_dead_model: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.on_dead_model = on_dead_model
        super().__init__(address)
        self._abandoned: set[asyncio.Task[Any]] = set()
        self._answered_at: dict[str, float] = {}
        self.open_sequences: set[int] = set()
        self.mending: set[str] = set()
        self._losses: dict[str, asyncio.Future[None]] = {}
        self._clock = clock
        self._name = uuid.uuid4().hex

    async def close(self) -> None:
        """Close the connection after abandoned requests, within a time limit."""
        if self._abandoned:
            await asyncio.wait(self._abandoned, timeout=_FAREWELL_SECONDS)
        await self._client.close()

    def answered_at(self, model: str) -> float | None:
        """Return the time of a model's last answer on the loop's clock, or None."""
        return self._answered_at.get(model)

    def lose(self, models: Iterable[str]) -> None:
        """Fail pending requests to models whose processes have ended."""
        for model in models:
            loss = self._losses.pop(model, None)
            if loss is not None:
                loss.set_result(None)

    async def until_served(self, model: str) -> None:
        """Wait until a model that was lost is ready again."""
        # An ensemble is lost with any of its steps.
        while self.mending or await self.missing([model]):  # noqa: ASYNC110 - Triton can only be asked
            await asyncio.sleep(_RECOVERY_POLL_SECONDS)

    async def infer(
        self,
        model: str,
        inputs: Sequence[triton.InferInput],
        *,
        correlation_id: int = 0,
        start: bool = False,
        end: bool = False,
        due: float | None = None,
    ) -> triton.InferResult:
        """Run one request; a correlation ID other than 0 makes it part of that sequence.

        Triton is not told when the caller is cancelled: where a cancellation meets the taking in of its request, the
        whole server may end (triton-inference-server/server, issues 7368 and 8034; seen here with 2.51).

        Raises:
            ModelUnavailableError: Triton cannot be reached or did not answer in time, or the model's process has ended
                or hangs.
            ModelDeadError: the model's process has ended, and Triton is not started again for that.
            ModelError: the model refused the request or failed.
        """
        if start:
            self.open_sequences.add(correlation_id)
        try:
            return await self._infer(model, inputs, correlation_id, start=start, end=end, due=due)
        finally:
            if end:
                self.open_sequences.discard(correlation_id)

    async def stream(self, model: str, inputs: Sequence[triton.InferInput]) -> AsyncGenerator[triton.InferResult, None]:
        """Run one request of a decoupled model, and yield its responses as they come.

        A caller who stops iterating is told nothing more, and the model computes the request to its end.

        Raises:
            ModelError: as for :meth:`infer`.
        """
        await self._until_few_abandoned()
        responses = StreamedResponses(self._client, model, inputs)
        call = asyncio.create_task(self._answer(model, responses.receive(_REQUEST_TIMEOUT_SECONDS)))
        try:
            async for response in responses:
                yield response
            await self._unless_abandoned(call)
        finally:
            if not call.done():
                responses.discard()
                self._abandon(call)

    async def _infer(
        self,
        model: str,
        inputs: Sequence[triton.InferInput],
        correlation_id: int,
        *,
        start: bool,
        end: bool,
        due: float | None,
    ) -> triton.InferResult:
        if not correlation_id:
            await self._until_few_abandoned()
        call = self._client.infer(
            model,
            list(inputs),
            sequence_id=correlation_id,
            sequence_start=start,
            sequence_end=end,
            client_timeout=_REQUEST_TIMEOUT_SECONDS,
            parameters=self._parameters(due),
            headers=trace_headers(),
        )
        return await self._unless_lost(model, asyncio.create_task(self._answer(model, call)))

    async def _until_few_abandoned(self) -> None:
        while len(self._abandoned) >= _MAX_ABANDONED:
            await asyncio.wait(self._abandoned, return_when=asyncio.FIRST_COMPLETED)

    def _parameters(self, due: float | None) -> dict[str, int | str] | None:
        """Return the deadline for the models; Triton's own time-outs are costly.

        See lab/docs/performance_journal.md.

        It is a duration: clocks of two machines differ, and may be set (see ``engines/deadline.py``).
        """
        if due is None:
            return None
        useful = due - asyncio.get_running_loop().time()
        return {"useful_us": round(useful * 1e6), "sent_us": round(self._clock() * 1e6), "sender": self._name}

    async def _answer(self, model: str, call: Awaitable[_AnswerT]) -> _AnswerT:
        """Await Triton's answer, also without a listener: it may show a dead model."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        try:
            result = await call
        except InferenceServerException as error:
            if error.status() not in UNREACHABLE:
                self._answered_at[model] = loop.time()
            elif error.status() != LATE:
                # The Triton that comes back may be as slow to start as the first one.
                self._answered_at.clear()
            raise self._failure(model, error, asked_at) from error
        self._answered_at[model] = loop.time()
        return result

    def _failure(self, model: str, error: InferenceServerException, asked_at: float) -> ModelError:
        """Translate Triton's error; request a restart where the model is dead."""
        if tells_of_lost_sequence(error) or (self.mending and tells_of_unloaded_model(error)):
            return self._lost(model)
        # A model that is slow has answered somebody else meanwhile; one that never has may only be slow to start.
        hangs = error.status() == LATE and self._answered_at.get(model, asked_at) < asked_at
        dead = dead_model(error)
        if dead and asked_at < self.reloaded_at.get(dead, asked_at):
            return self._lost(model)
        failure = model_error(model, error)
        if not (hangs or dead):
            return failure if error.status() in {LATE, None} else self._recoverable(model, failure)
        if not self.on_dead_model(dead or model):
            return ModelDeadError(str(failure)) if dead else failure
        self._answered_at.clear()
        what = f"hangs: nobody had an answer for {_REQUEST_TIMEOUT_SECONDS:g} s" if hangs else "has ended"
        logger.error("the process of the model %s %s", dead or model, what)
        gone = ModelUnavailableError(f"the process of the model {model} {what}: try again soon")
        return self._recoverable(model, gone)

    def _lost(self, model: str) -> ModelError:
        message = f"the process of the model {model} was lost with what it was asked: try again soon"
        return self._recoverable(model, ModelUnavailableError(message))

    def _recoverable(self, model: str, failure: ModelError) -> ModelError:
        """Mark a failure caused by a process, not by the request."""
        if isinstance(failure, ModelUnavailableError):
            failure.recovery = partial(self.until_served, model)
        return failure

    async def _unless_abandoned(self, call: asyncio.Task[_AnswerT]) -> _AnswerT:
        """Wait for a call, which goes on to its end when the waiting is cancelled."""
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            self._abandon(call)
            raise

    async def _unless_lost(self, model: str, call: asyncio.Task[_AnswerT]) -> _AnswerT:
        """Await a call, which goes on when the waiting is cancelled."""
        loss = self._losses.get(model)
        if loss is None:
            loss = self._losses[model] = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait((call, loss), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._abandon(call)
            raise
        if call.done():
            return call.result()
        self._abandon(call)
        raise self._lost(model)

    def _abandon(self, call: asyncio.Task[Any]) -> None:
        self._abandoned.add(call)
        call.add_done_callback(self._forget)

    def _forget(self, call: asyncio.Task[Any]) -> None:
        self._abandoned.discard(call)
        if not call.cancelled():
            call.exception()  # Nobody is left to be told of it.
