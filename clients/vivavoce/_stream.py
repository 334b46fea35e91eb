"""One stream to the server; a lost connection makes a conversation open another."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import grpc

from vivavoce._connection import stub
from vivavoce._events import Event, GoingAway, GoingAwayReason, Notice, SpeechEnded
from vivavoce._reply import Reply
from vivavoce._reply_clock import ReplyClock
from vivavoce._responses import event_from_response
from vivavoce._security import Security
from vivavoce._spoken import ReplyAudio
from vivavoce._status import error_from_rpc
from vivavoce._tasks import each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vivavoce._config import AudioFormat
    from vivavoce.v1 import conversation_pb2 as pb

_Call: TypeAlias = "grpc.aio.StreamStreamCall[pb.ConverseRequest, pb.ConverseResponse]"

# Responses that may wait for the caller; then the pressure reaches the server.
_READ_AHEAD = 64


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and how patient its client is."""

    channel: grpc.aio.Channel
    target: str
    connect_timeout_seconds: float
    response_timeout_seconds: float
    security: Security = field(default_factory=Security)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A response, and the moment in which it came."""

    response: pb.ConverseResponse
    moment: float


class Stream:
    """A call of `Converse`, and how long its replies take.

    Responses are read as they come, so that the time that the caller takes for events does not count as a reply's.

    Attributes:
        accepted: Whether the server has answered at all.
        half_closed: Whether everything was sent.
        leaving: Why the server will end the stream; None while it has not said that it will.
        reader: The task that takes what comes; whoever cancels the stream stops it.
    """

    def __init__(self, server: Server, audio: AudioFormat | None, stop_window_seconds: float) -> None:
        self.accepted = False
        self.half_closed = False
        self.leaving: GoingAwayReason | None = None
        self._said_since_leaving = False
        self._target = server.target
        self._audio = audio
        self._clock = ReplyClock(stop_window_seconds)
        self._call: _Call = stub(server.channel).Converse(metadata=server.security.metadata)
        self._unanswered: Sequence[pb.ConverseRequest] = ()
        self._may_go_on = asyncio.Event()
        self._writing_since: float | None = None
        self._arrived: asyncio.Queue[Arrival | Exception | None] = asyncio.Queue(_READ_AHEAD)
        self.reader = asyncio.create_task(self._read_ahead())

    def go_on_with(self, unanswered: Sequence[pb.ConverseRequest]) -> None:
        """Let the sender go on after the config, first with unanswered requests."""
        self._unanswered = unanswered
        self._may_go_on.set()

    async def unanswered(self) -> Sequence[pb.ConverseRequest]:
        """Wait for `go_on_with`, and return what it was given."""
        await self._may_go_on.wait()
        requests, self._unanswered = self._unanswered, ()
        return requests

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the call is over."""
        self._call.add_done_callback(lambda _: callback())

    @property
    def fell_idle(self) -> bool:
        """True where the server leaves an idle conversation, and nothing was said since."""
        return self.leaving is GoingAwayReason.IDLE and not self._said_since_leaving

    def done(self) -> bool:
        """Return whether the call is over."""
        return self._call.done()

    def cancel(self) -> None:
        """Give the call up."""
        self._call.cancel()

    async def write(self, request: pb.ConverseRequest) -> None:
        """Send `request` as soon as flow control lets it."""
        self._note(request)
        self._writing_since = time.monotonic()
        await self._call.write(request)
        self._writing_since = None

    def stuck(self, patience_seconds: float) -> bool:
        """Return whether flow control has held the present request back for so long."""
        return self._writing_since is not None and time.monotonic() - self._writing_since >= patience_seconds

    async def half_close(self) -> None:
        """Tell the server that nothing more will be sent."""
        self._clock.half_closed(time.monotonic())
        self.half_closed = True
        await self._call.done_writing()

    async def read(self) -> Arrival | None:
        """Return the next response, or None when the server has ended the stream.

        Raises:
            VivavoceError: The stream has failed.
        """
        arrival = await self._arrived.get()
        if isinstance(arrival, grpc.aio.AioRpcError):
            raise error_from_rpc(arrival, self._target) from arrival
        if isinstance(arrival, Exception):
            raise arrival
        self.accepted = self.accepted or arrival is not None
        return arrival

    def event(self, arrival: Arrival) -> Event | None:
        """Make the event of a response; None for one of a newer server."""
        event = event_from_response(arrival.response)
        if self.leaving is GoingAwayReason.IDLE:
            self.leaving = None  # The server goes on: what was said since has called the end off.
        match event:
            case SpeechEnded():
                self._clock.speech_ended(event)
            case Notice():
                self._clock.notice(event)
            case GoingAway():
                self.leaving, self._said_since_leaving = event.reason, False
            case Reply():
                client_latency_seconds = self._clock.latency_seconds(event, arrival.moment)
                turn_latency_seconds = self._clock.turn_seconds(event, arrival.moment)
                return replace(
                    event,
                    client_latency_seconds=client_latency_seconds,
                    turn_latency_seconds=turn_latency_seconds,
                )
            case ReplyAudio():
                return replace(event, first_audio_seconds=self._clock.first_audio_seconds(event, arrival.moment))
        return event

    async def _read_ahead(self) -> None:
        end: Exception | None = None
        try:
            # Not by the call's `read`. For it a call is over, with an internal error, as soon as a write has failed
            # (https://github.com/grpc/grpc/issues/36066); iteration goes on to what the server has said until its end,
            # and then tells the server's status.
            async with aclosing(each(self._call)) as responses:
                async for response in responses:
                    await self._arrived.put(Arrival(response, time.monotonic()))
        except Exception as error:  # noqa: BLE001 - `read` raises it
            end = error
        await self._arrived.put(end)

    def _note(self, request: pb.ConverseRequest) -> None:
        self._said_since_leaving = True
        moment = time.monotonic()
        match request.WhichOneof("request"):
            case "audio":
                seconds = None if self._audio is None else self._audio.duration_seconds(len(request.audio))
                if seconds is not None:
                    self._clock.audio_sent(seconds, moment)
            case "end_of_utterance" | "text":
                self._clock.requested(request.request_id, moment)
