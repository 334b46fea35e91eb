"""One conversation: what the caller says goes up, events come down.

Four tasks share the work. The *listener* takes what the caller says, from the first moment on, into a bounded backlog:
nothing that is said while the connection is made is lost. The *sender* writes the config and then the backlog, as
fast as the connection's flow control lets it. The *reader* of the stream takes what the server says, and the caller's
own task makes events of it. When the backlog is full, the listener waits: the pressure reaches the caller's iterator.
When the caller takes no events, the reader waits: the pressure reaches the server.

A stream that is lost may be followed by another one. The listener goes on meanwhile; the new stream's sender writes the
config and, once the server has let it in, what of the old one was not answered, and then the backlog.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import grpc

from vivavoce._connection import reach
from vivavoce._controls import Controls
from vivavoce._errors import Overloaded, ResponseOverdue, ServerUnavailable, VivavoceError
from vivavoce._look_back import LookBack
from vivavoce._outage import Outage, has_gone, retry_after_seconds, unavailable
from vivavoce._reply import Reply
from vivavoce._requests import Utterable, utterance_requests
from vivavoce._stream import Stream
from vivavoce._tasks import cancel, each, stop
from vivavoce._timeout import timeout
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Coroutine, Iterable, Mapping

    from typing_extensions import Self

    from vivavoce._config import AudioFormat
    from vivavoce._events import Event
    from vivavoce._stream import Server
    from vivavoce._tools import Tool

_T = TypeVar("_T")

# With chunks of 100 ms, 25 s of speech are kept; messages being at most 32 KiB long, 8 MiB of memory.
BACKLOG_MESSAGES = 256


class _ClosedError(Exception):
    """The conversation was closed while somebody waited for its next event."""


class Conversation(Controls):
    """One conversation, iterated over once; leaving the iteration ends it."""

    def __init__(
        self,
        server: Server,
        config: pb.ConversationConfig,
        said: AsyncIterable[Utterable] | Iterable[Utterable],
        audio: AudioFormat | None,
        *,
        stop_window_seconds: float,
        reconnect_seconds: float,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self._server, self._config = server, config
        self._said, self._audio = said, audio
        self._stop_window_seconds = stop_window_seconds
        self._look_back = LookBack(audio) if reconnect_seconds > 0 else None
        self._outage = Outage(reconnect_seconds)
        super().__init__(asyncio.Queue(BACKLOG_MESSAGES), tools)
        self._numbers = itertools.count(1)
        self._all_taken = self._begun = False
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listener: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._stream: Stream | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        # The generator is not kept: with the last reference to it, an iteration that was left early closes itself.
        if self._begun:
            raise RuntimeError("A conversation can be held only once; call `converse` again.")
        self._begun = True
        return self._hold()

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "A conversation is asynchronous: write `async for event in client.converse(...)`. "
            "For programs without asyncio there is `vivavoce.sync.connect`."
        )

    def __await__(self) -> NoReturn:
        raise TypeError("A conversation is not awaited: write `async for event in client.converse(...)`.")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    @property
    def closed(self) -> bool:
        """True once the conversation has ended."""
        return self._closed.done()

    async def aclose(self) -> None:
        """End the conversation at once. May be called several times, from any task."""
        if not self._closed.done():
            self._closed.set_result(None)
        tasks = [*self._uplink(), *self._tools.running]
        if self._stream is not None:
            self._stream.cancel()
            tasks.append(self._stream.reader)
        await stop(tasks)

    async def _hold(self) -> AsyncGenerator[Event, None]:
        try:
            self._listener = asyncio.create_task(self._listen())
            stream = await self._open()
            stream.go_on_with([])
            while events := await self._events():
                for event in events:
                    self._tools.note(event, self.send_tool_result)
                    yield event
        except _ClosedError:
            return
        finally:
            await self.aclose()

    async def _listen(self) -> None:
        async with aclosing(each(self._said)) as said:
            async for something in said:
                for request in utterance_requests(something, self._audio, f"request-{next(self._numbers)}"):
                    await self._backlog.put(request)
        await self._backlog.put(None)

    async def _open(self) -> Stream:
        """Open a stream and send the config; what follows waits for `Stream.go_on_with`."""
        server = self._server
        await self._wait_for(reach(server.channel, server.target, server.connect_timeout_seconds))
        stream = self._stream = Stream(server, self._audio, self._stop_window_seconds)
        self._sender = asyncio.create_task(self._send(stream))
        # A write that fails because the server has ended the call must not get to run on: gRPC would replace the
        # server's status by an internal error (https://github.com/grpc/grpc/issues/36066).
        stream.when_done(partial(cancel, self._sender))
        return stream

    async def _send(self, stream: Stream) -> None:
        try:
            await stream.write(pb.ConverseRequest(config=self._config))
            for request in await stream.unanswered():
                await stream.write(request)
            while (said := await self._take()) is not None:
                await stream.write(said)
            await stream.half_close()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            if not stream.done():
                raise
            # The call is over: reading tells how it ended, writing needs only to stop.

    async def _take(self) -> pb.ConverseRequest | None:
        """Move the next request from the backlog to the look-back; None at the end."""
        request = None
        while request is None and not self._all_taken:
            request = self._urgent.popleft() if self._urgent else await self._backlog.get()
            self._all_taken = request is None
            if request is not None and self._look_back is not None:
                request = self._look_back.sent(request)
        return request

    async def _events(self) -> list[Event]:
        """Return what happens next; nothing when the conversation has come to its end."""
        stream = self._stream
        assert stream is not None
        try:
            event = await self._next(stream)
        except VivavoceError as error:
            if not self._can_go_on(stream, error):
                raise
            return await self._reconnect(error)
        return [] if event is None else [event]

    async def _next(self, stream: Stream) -> Event | None:
        """Return the next event, or None when the server has ended the conversation."""
        patience_seconds = self._server.response_timeout_seconds
        while (arrival := await self._wait_for(stream.read(), patience_seconds)) is not None:
            event = stream.event(arrival)
            if event is not None:
                return self._placed(event)
        if not stream.half_closed or (stream.leaving is not None and self._left_over(stream)):
            target = self._server.target
            raise ServerUnavailable(f"The server at {target} ended the conversation early; connect again.")
        return None

    def _placed(self, event: Event) -> Event:
        """Record what `event` answers; return it with its whole-conversation position."""
        if isinstance(event, Reply):
            self._outage.forget()
        if self._look_back is None:
            return event
        self._look_back.answered_by(event)
        return self._look_back.placed(event)

    def _can_go_on(self, stream: Stream, error: VivavoceError) -> bool:
        """Return whether a new stream may follow the one that failed with `error`."""
        if self._look_back is None or not stream.accepted or not has_gone(error):
            return False
        may_say_more = not stream.half_closed and not stream.fell_idle
        return may_say_more or self._left_over(stream)

    def _left_over(self, stream: Stream) -> bool:
        """Return whether `stream` has left something behind that has to be said again."""
        if self._look_back is None:
            return False
        return self._look_back.owed if stream.fell_idle else not self._look_back.empty

    async def _reconnect(self, error: VivavoceError) -> list[Event]:
        """Try to reopen a stream that failed with `error`; return its first events."""
        self._outage.lost(time.monotonic())
        while True:
            await self._leave()
            pause_seconds = self._outage.pause_seconds(time.monotonic(), retry_after_seconds(error))
            if pause_seconds is None:
                raise unavailable(error)
            await self._wait_for(asyncio.sleep(pause_seconds))
            try:
                async with timeout(self._outage.left_seconds(time.monotonic())) as limit:
                    return await self._go_on()
            except TimeoutError:
                if not limit.expired():
                    raise  # It is the caller's own.
                target = self._server.target
                error = ServerUnavailable(f"The server at {target} did not take the conversation up again; try later.")
            except VivavoceError as failure:
                if not has_gone(failure) and not isinstance(failure, Overloaded):
                    raise
                error = failure

    async def _leave(self) -> None:
        """Give up the present stream; until the next one nothing leaves the backlog."""
        sender, self._sender = self._sender, None
        if self._stream is not None and sender is not None:
            self._stream.cancel()
            await stop([sender, self._stream.reader])

    async def _go_on(self) -> list[Event]:
        """Open the next stream and, once admitted, send what was not answered."""
        assert self._look_back is not None
        stream = await self._open()
        started = await self._next(stream)
        reconnected, requests = self._look_back.begin_anew()
        stream.go_on_with(requests)
        self._outage.over(time.monotonic())
        return [reconnected] if started is None else [reconnected, started]

    def _uplink(self) -> list[asyncio.Task[None]]:
        return [task for task in (self._listener, self._sender) if task is not None]

    async def _wait_for(self, work: Coroutine[Any, Any, _T], patience_seconds: float | None = None) -> _T:
        """Wait for `work`, unless the uplink fails first: then its error is raised.

        Patience is limited only once everything was sent: as long as the caller may speak, the server may listen. But
        it has to listen then: what is being sent may not take longer either.

        Raises:
            ResponseOverdue: Everything was sent, and `work` took longer than `patience_seconds`, or so did a request.
            _ClosedError: The conversation was closed meanwhile.
        """
        task = asyncio.create_task(work)
        try:
            self._check()  # The uplink may have failed while the caller was busy with the last event.
            while not task.done():
                sending = [one for one in self._uplink() if not one.done()]
                awaited: set[asyncio.Future[Any]] = {task, self._closed, *sending}
                done, _ = await asyncio.wait(awaited, timeout=patience_seconds, return_when=asyncio.FIRST_COMPLETED)
                self._check()
                if not done and patience_seconds is not None:
                    self._be_patient(patience_seconds, sending=bool(sending))
            return task.result()
        finally:
            await stop([task])

    def _be_patient(self, seconds: float, *, sending: bool) -> None:
        """Give up a server that takes nothing, or is silent after everything was sent."""
        assert self._stream is not None
        stuck = self._stream.stuck(seconds)
        if stuck or not sending:
            target, done = self._server.target, "taken" if stuck else "said"
            raise ResponseOverdue(f"The server at {target} has {done} nothing for {seconds:g} s; try again.")

    def _check(self) -> None:
        if self._closed.done():
            raise _ClosedError
        for one in self._uplink():
            if one.done():
                one.result()
