"""The responses to one request of a decoupled model, over a stream of its own.

Errors come as texts among the responses, without a code. Triton would end the stream with a status instead if it were
asked to (`triton_grpc_error`), but then its whole server ends where a model refuses a request: seen with 2.51.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc.aio
from tritonclient.utils import InferenceServerException

from pipelines.models.trace_context import trace_headers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    import tritonclient.grpc.aio as triton


class StreamedResponses:
    """Queue of one request's responses; unbounded, as requests are bounded.

    Args:
        client: the connection.
        model: name of the model.
        inputs: the request.
    """

    def __init__(self, client: triton.InferenceServerClient, model: str, inputs: Sequence[triton.InferInput]) -> None:
        self._client = client
        self._request = {"model_name": model, "inputs": list(inputs)}
        self._responses: asyncio.Queue[triton.InferResult | None] = asyncio.Queue()
        self._discards = False

    async def receive(self, timeout_seconds: float) -> None:
        """Receive all responses, including those discarded.

        Raises:
            InferenceServerException: Triton refuses, fails or cannot be reached.
        """
        try:
            stream = self._client.stream_infer(
                self._requests(), stream_timeout=timeout_seconds, headers=trace_headers()
            )
            async for result, error in stream:
                if error is not None:
                    raise error
                if not self._discards:
                    self._responses.put_nowait(result)
        except grpc.aio.AioRpcError as error:
            raise InferenceServerException(error.details() or "", str(error.code()), error) from error
        finally:
            self._responses.put_nowait(None)

    def discard(self) -> None:
        """Discard all further responses."""
        self._discards = True

    async def __aiter__(self) -> AsyncIterator[triton.InferResult]:
        """Yield the responses, up to the last one or an error."""
        while (response := await self._responses.get()) is not None:
            yield response

    async def _requests(self) -> AsyncIterator[dict[str, Any]]:
        yield self._request
