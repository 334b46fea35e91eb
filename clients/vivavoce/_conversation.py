"""One conversation: what the caller says goes up, events come down.

Three tasks share the work. The *listener* takes what the caller says, from the first moment on, into a bounded backlog:
nothing that is said while the connection is made is lost. The *sender* writes the config and then the backlog, as
fast as the connection's flow control lets it. The caller's own task reads the events. When the backlog is full, the
listener waits: the pressure reaches the caller's iterator.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import grpc

from vivavoce._connection import reach, stub
from vivavoce._errors import ResponseOverdue, ServerUnavailable
from vivavoce._events import Event, Notice, Reply, SpeechEnded
from vivavoce._requests import Utterable, utterance_requests
from vivavoce._responses import event_from_response
from vivavoce._status import error_from_rpc
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from vivavoce._config import AudioFormat
    from vivavoce._reply_clock import ReplyClock

_T = TypeVar("_T")
_Call: TypeAlias = "grpc.aio.StreamStreamCall[pb.ConverseRequest, pb.ConverseResponse]"

# With chunks of 100 ms, 25 s of speech are kept; messages being at most 32 KiB long, 8 MiB of memory.
BACKLOG_MESSAGES = 256


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and how patient its client is."""

    channel: grpc.aio.Channel
    target: str
    connect_timeout_seconds: float
    response_timeout_seconds: float


class _ClosedError(Exception):
    """The conversation was closed while somebody waited for its next event."""


class Conversation:
    """One conversation. Iterate over it, once, to hold it; leaving the iteration early, or `aclose`, ends it."""

    def __init__(
        self,
        server: Server,
        config: pb.ConversationConfig,
        said: AsyncIterable[Utterable] | Iterable[Utterable],
        audio: AudioFormat | None,
        clock: ReplyClock,
    ) -> None:
        self._server = server
        self._config = config
        self._said = said
        self._audio = audio
        self._clock = clock
        self._backlog: asyncio.Queue[pb.ConverseRequest | None] = asyncio.Queue(BACKLOG_MESSAGES)
        self._begun = False
        self._all_said = False
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._uplink: list[asyncio.Task[None]] = []
        self._call: _Call | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        # The generator is not kept: with the last reference to it, an iteration that was left early closes itself.
        if self._begun:
            raise RuntimeError("A conversation can be held only once; call `converse` again.")
        self._begun = True
        return self._hold()

    @property
    def closed(self) -> bool:
        """Whether the conversation has ended."""
        return self._closed.done()

    async def aclose(self) -> None:
        """Ends the conversation, whatever it is doing. May be called several times, and from any task."""
        if not self._closed.done():
            self._closed.set_result(None)
        if self._call is not None:
            self._call.cancel()
        await _stop(self._uplink)

    async def _hold(self) -> AsyncGenerator[Event, None]:
        try:
            self._start(self._listen())
            server = self._server
            await self._wait_for(reach(server.channel, server.target, server.connect_timeout_seconds))
            self._call = stub(server.channel).Converse()
            sending = self._start(self._send(self._call))
            # A write that fails because the server has ended the call must not get to run on: gRPC would replace the
            # server's status by an internal error (https://github.com/grpc/grpc/issues/36066).
            self._call.add_done_callback(partial(_cancel, sending))
            while (response := await self._read(self._call)) is not None:
                event = event_from_response(response)
                if event is not None:
                    yield self._timed(event)
            if not self._all_said:
                raise ServerUnavailable(f"The server at {server.target} ended the conversation early; connect again.")
        except _ClosedError:
            return
        finally:
            await self.aclose()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._uplink.append(task)
        return task

    async def _listen(self) -> None:
        async with aclosing(_each(self._said)) as said:
            async for something in said:
                for request in utterance_requests(something, self._audio):
                    await self._backlog.put(request)
        await self._backlog.put(None)

    async def _send(self, call: _Call) -> None:
        try:
            await call.write(pb.ConverseRequest(config=self._config))
            while (request := await self._backlog.get()) is not None:
                self._note(request)
                await call.write(request)
            self._clock.half_closed(time.monotonic())
            self._all_said = True
            await call.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            if not call.done():
                raise
            # The call is over: reading tells how it ended, writing needs only to stop.

    def _note(self, request: pb.ConverseRequest) -> None:
        moment = time.monotonic()
        match request.WhichOneof("request"):
            case "audio":
                seconds = None if self._audio is None else self._audio.duration_seconds(len(request.audio))
                if seconds is not None:
                    self._clock.audio_sent(seconds, moment)
            case "end_of_utterance":
                self._clock.end_requested(moment)
            case "text":
                self._clock.typed(moment)

    async def _read(self, call: _Call) -> pb.ConverseResponse | None:
        """Returns the next response, or None when the server has ended the conversation."""
        try:
            response = await self._wait_for(_read(call))
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error, self._server.target) from error
        return response

    async def _wait_for(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Waits for `work`, unless the uplink fails first: then its error is raised.

        Patience is limited only once everything was sent: as long as the caller may speak, the server may listen.

        Raises:
            ResponseOverdue: Everything was sent, and `work` took longer than the server is given.
            _ClosedError: The conversation was closed meanwhile.
        """
        task = asyncio.create_task(work)
        try:
            self._check(timed_out=False)  # The uplink may have failed while the caller was busy with the last event.
            while not task.done():
                sending = [one for one in self._uplink if not one.done()]
                patience = None if sending else self._server.response_timeout_seconds
                awaited: set[asyncio.Future[Any]] = {task, self._closed, *sending}
                done, _ = await asyncio.wait(awaited, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                self._check(timed_out=not done)
            return task.result()
        finally:
            await _stop([task])

    def _check(self, *, timed_out: bool) -> None:
        if self._closed.done():
            raise _ClosedError
        for one in self._uplink:
            if one.done():
                one.result()
        if timed_out:
            seconds, target = self._server.response_timeout_seconds, self._server.target
            raise ResponseOverdue(f"The server at {target} has said nothing for {seconds:g} s; try again.")

    def _timed(self, event: Event) -> Event:
        match event:
            case SpeechEnded():
                self._clock.speech_ended(event)
            case Notice():
                self._clock.notice(event)
            case Reply():
                return replace(event, client_latency_seconds=self._clock.latency_seconds(event, time.monotonic()))
        return event


def _cancel(task: asyncio.Task[None], _call: _Call) -> None:
    if task is not asyncio.current_task():  # There it is the task itself that has just learned of the end.
        task.cancel()


async def _read(call: _Call) -> pb.ConverseResponse | None:
    response = await call.read()
    return response if isinstance(response, pb.ConverseResponse) else None


async def _stop(tasks: list[asyncio.Task[_T]]) -> None:
    """Cancels what still runs and waits for its end; what failed has been told, or does not matter any more.

    The task that asks for this, or waits for who asks, may be one of them. The former is left out: the caller's own
    task stops it. Because of the latter the wait is shielded: its being cancelled must not cancel `tasks` once more.
    """
    others = [task for task in tasks if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.shield(asyncio.gather(*others, return_exceptions=True))


async def _each(said: AsyncIterable[Utterable] | Iterable[Utterable]) -> AsyncGenerator[Utterable, None]:
    """Iterates over what the caller says, and closes a generator of theirs behind it."""
    if not isinstance(said, AsyncIterable):
        for something in said:
            yield something
            await asyncio.sleep(0)  # The other tasks get their turn.
        return
    iterator = aiter(said)
    try:
        async for something in iterator:
            yield something
    finally:
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()
