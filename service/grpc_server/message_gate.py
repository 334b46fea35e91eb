"""Gate before every method: first messages are read when there is room.

gRPC asks for the request of a method that takes one as soon as the call is there, and keeps what comes of it. The gate
turns such methods into ones that take a stream, which is the same on the wire, and asks itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import TYPE_CHECKING, Any

import grpc

from pipelines.errors import InvalidInputError
from service.grpc_server.deserializers import Unreadable, refuse_malformed
from service.grpc_server.errors import reported_to
from service.refusals import TooManyStreamsError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from service.grpc_server.errors import Context
    from service.grpc_server.first_messages import FirstMessages

    Handler = grpc.RpcMethodHandler[Any, Any]
    Method = Callable[..., Any]  # gRPC's types are those of threads, where methods are coroutines here.

REQUEST_SECONDS = 30.0
"""Time for the request of a method that takes one, or for the first of a stream; methods may give less."""

MAX_SIDE_STREAMS = 16
"""Streams at a time over services that know no admission, such as reflection."""

_SIDE_STREAM_SECONDS = 60.0
_RETRY_SECONDS = 2.0
_SIDE_SERVICES = ("/grpc.",)


class MessageGate(grpc.aio.ServerInterceptor):
    """Lets calls send their first message when :class:`FirstMessages` has a place.

    Args:
        first_messages: has the places.
        request_seconds: how long a request may take.
    """

    def __init__(self, first_messages: FirstMessages, request_seconds: float = REQUEST_SECONDS) -> None:
        self._first_messages = first_messages
        self._request_seconds = request_seconds
        self._gated: dict[str, Handler] = {}
        self._side_streams = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return the handler of a method, behind the gate."""
        known = self._gated.get(details.method)
        if known is not None:
            return known
        handler = await continuation(details)
        if handler is None:
            return None
        gated = self._gate(handler, is_side_service=details.method.startswith(_SIDE_SERVICES))
        self._gated[details.method] = gated
        return gated

    def _gate(self, handler: Handler, *, is_side_service: bool) -> Handler:
        deserializer = handler.request_deserializer
        if is_side_service and deserializer is not None:
            deserializer = _reader(deserializer)
        serializers = (deserializer, handler.response_serializer)
        if handler.unary_unary:
            return grpc.stream_unary_rpc_method_handler(self._one_answer(handler.unary_unary), *serializers)
        if handler.unary_stream:
            return grpc.stream_stream_rpc_method_handler(self._many_answers(handler.unary_stream), *serializers)
        if handler.stream_stream:
            gate = self._side_stream if is_side_service else self._stream
            stream = gate(handler.stream_stream)
            return grpc.stream_stream_rpc_method_handler(stream, *serializers)
        raise NotImplementedError("no service has a method of this kind")

    def _one_answer(self, method: Method) -> Method:
        async def answer(_: AsyncIterator[Any], context: Context) -> Any:  # noqa: ANN401 - any response
            return await method(await self._request(context), context)

        return answer

    def _many_answers(self, method: Method) -> Method:
        async def answer(_: AsyncIterator[Any], context: Context) -> None:
            await method(await self._request(context), context)

        return answer

    def _stream(self, method: Method) -> Method:
        async def answer(requests: AsyncIterator[Any], context: Context) -> None:
            await method(_Gated(requests, context, self._first_messages, self._request_seconds), context)

        return answer

    def _side_stream(self, method: Method) -> Method:
        """Bound streams that no admission bounds, in number and in time."""
        assert inspect.isasyncgenfunction(method)

        async def answer(requests: AsyncIterator[Any], context: Context) -> None:
            async with reported_to(context):
                with self._side_stream_counted(), contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_SIDE_STREAM_SECONDS):
                        gated = _Gated(requests, context, self._first_messages, self._request_seconds)
                        async for response in method(_readable(gated), context):
                            await context.write(response)

        return answer

    async def _request(self, context: Context) -> Any:  # noqa: ANN401 - any request
        """Read the only request of a call.

        What follows it on the wire, against the contract, is never asked for.
        """
        async with reported_to(context):
            try:
                request: Any = await self._first_messages.read(context.read, context.peer(), self._request_seconds)
            except TimeoutError:
                message = f"no whole request came within {self._request_seconds:g} s: send it with the call"
                raise InvalidInputError("request", "NO_REQUEST", message) from None
            if request is grpc.aio.EOF:
                raise InvalidInputError("request", "NO_REQUEST", "the call ended without a request: send one")
            refuse_malformed(request)
            return request

    @contextlib.contextmanager
    def _side_stream_counted(self) -> Iterator[None]:
        if self._side_streams >= MAX_SIDE_STREAMS:
            raise TooManyStreamsError(MAX_SIDE_STREAMS, _RETRY_SECONDS)
        self._side_streams += 1
        try:
            yield
        finally:
            self._side_streams -= 1


def _reader(deserializer: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return a deserializer that gives :class:`Unreadable` instead of failing."""

    def read(data: bytes) -> Any:  # noqa: ANN401 - any request
        try:
            return deserializer(data)
        except Exception:  # noqa: BLE001 - whatever it cannot read
            message = "a request cannot be read: send protobuf of the method's package with text in UTF-8"
            return Unreadable(InvalidInputError("request", "MALFORMED_REQUEST", message))

    return read


async def _readable(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        refuse_malformed(request)
        yield request


class _Gated:
    """The requests of a stream, the first of which is asked for when there is room."""

    def __init__(
        self, requests: AsyncIterator[Any], context: Context, first_messages: FirstMessages, seconds: float
    ) -> None:
        self._requests = requests
        self._context = context
        self._first_messages = first_messages
        self._seconds = seconds
        self._begun = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    def __anext__(self) -> Awaitable[Any]:
        if self._begun:
            return anext(self._requests)
        self._begun = True
        return self._first()

    async def _first(self) -> Any:  # noqa: ANN401 - any request
        first: Any = await self._first_messages.read(self._context.read, self._context.peer(), self._seconds)
        if first is grpc.aio.EOF:
            raise StopAsyncIteration
        return first
