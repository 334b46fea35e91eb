"""HTTP requests of fulfilments: bounded, with retries, without redirects."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import email.utils
import logging
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
import msgspec

from service.fulfilment.circuit_breaker import CircuitBreaker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

MAX_ANSWER_BYTES = 64 * 1024
FIRST_PAUSE_SECONDS = 0.1
"""Before the second attempt, at least half of it; it doubles with each further one."""
MAX_PAUSE_SECONDS = 2.0
MAX_CONNECTIONS = 100
MAX_ENDING_SECONDS = 8.0
"""For programs that are ended; those that do not end by themselves are killed after four."""
_MAX_PIECES = 1_000
"""Of an answer, of whatever size."""
_MIN_PIECE_BYTES = 8
"""Mean size of the pieces of an answer that has more of them."""
_PIECES_AT_ONCE = 32

_NOT_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""What says that the server has nothing of the request."""


class CallFailedError(Exception):
    """Failed request; the message gives the reason and no content."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and how it is made.

    Attributes:
        method: of HTTP.
        url: absolute.
        headers: beside those of the transport.
        body: JSON; "": none.
        deadline_seconds: time for all attempts and the whole of the answer.
        retries: attempts after the first.
        is_idempotent: whether it may arrive twice; else it is sent again only where it cannot have arrived.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    deadline_seconds: float = 10.0
    retries: int = 0
    is_idempotent: bool = True


class HttpCalls:
    """Makes the requests of a service.

    Args:
        client: of httpx; None: one of its own.
        breaker: leaves failing servers alone.

    Attributes:
        breaker: as given.
    """

    def __init__(self, client: httpx.AsyncClient | None = None, breaker: CircuitBreaker | None = None) -> None:
        # They log URLs, and at DEBUG also headers.
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        limits = httpx.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=4.0)
        self._client = client or httpx.AsyncClient(timeout=None, limits=limits, follow_redirects=False)  # noqa: S113 - the deadline bounds all
        self.breaker = breaker or CircuitBreaker()
        self._kept: dict[asyncio.Task[None], Callable[[], None]] = {}

    async def close(self) -> None:
        """Close all connections, and wait for programs that are ended."""
        for stop in self._kept.values():
            stop()
        if self._kept:
            await asyncio.wait(tuple(self._kept), timeout=MAX_ENDING_SECONDS)
        await self._client.aclose()

    def keep(self, task: asyncio.Task[None], stop: Callable[[], None]) -> None:
        """Stop a task at the end, such as one that holds a connection of another kind."""
        self._kept[task] = stop
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._kept[task]
        if not task.cancelled():
            # What it fails with is told where it is waited for.
            task.exception()

    async def read(self, call: Call) -> bytes:
        """Return the whole answer to a request, which is JSON or empty.

        Raises:
            CallFailedError: no such answer comes.
        """
        async with self.answering(call) as response:
            content = bytearray()
            async with contextlib.aclosing(pieces_of(response, MAX_ANSWER_BYTES)) as pieces:
                async for piece in pieces:
                    content += piece
            if content and _media_type(response) != "application/json":
                raise CallFailedError(f"the answer is {_media_type(response) or 'of no type'}, not application/json")
            return bytes(content)

    @contextlib.asynccontextmanager
    async def answering(self, call: Call) -> AsyncIterator[httpx.Response]:
        """Make a request with retries; yield a successful response, its body unread.

        The deadline holds for the body of the ``async with`` as well.

        Raises:
            CallFailedError: no such response comes, or it breaks off, or the time is over.
        """
        origin = httpx.URL(call.url).netloc.decode()
        deadline = asyncio.get_running_loop().time() + call.deadline_seconds
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._attempts(call, origin, deadline)
                try:
                    yield response
                finally:
                    await response.aclose()
        except TimeoutError:
            self.breaker.failed(origin)
            raise CallFailedError(f"no whole answer came within {call.deadline_seconds:g} s") from None
        except httpx.HTTPError as error:
            self.breaker.failed(origin)
            raise CallFailedError(f"the answer broke off ({type(error).__name__})") from None
        self.breaker.succeeded(origin)

    async def _attempts(self, call: Call, origin: str, deadline: float) -> httpx.Response:
        for attempt in range(call.retries + 1):
            if not self.breaker.admits(origin):
                raise CallFailedError("the server has failed several times in a row and is left alone for some seconds")
            pause = random.uniform(0.5, 1.0) * min(FIRST_PAUSE_SECONDS * 2**attempt, MAX_PAUSE_SECONDS)  # noqa: S311
            may_resend = call.is_idempotent
            try:
                response = await self._send(call)
            except httpx.HTTPError as error:
                self.breaker.failed(origin)
                reason = f"the server cannot be reached ({type(error).__name__})"
                may_resend = may_resend or isinstance(error, _NOT_ARRIVED)
            else:
                status = response.status_code
                if response.is_success and response.headers.get("content-encoding", "identity") == "identity":
                    return response
                await response.aclose()
                reason = _refusal(response)
                if status >= 500:
                    self.breaker.failed(origin)
                elif status != 429:
                    self.breaker.succeeded(origin)
                    raise CallFailedError(reason)
                may_resend = may_resend or status in {429, 503}
                pause = max(pause, _retry_after(response))
            is_late = asyncio.get_running_loop().time() + pause >= deadline
            if attempt == call.retries or not may_resend or is_late:
                raise CallFailedError(reason)
            await asyncio.sleep(pause)
        raise AssertionError("a last attempt returns or raises")

    async def _send(self, call: Call) -> httpx.Response:
        headers = {"Accept-Encoding": "identity", "User-Agent": "vivavoce", **call.headers}
        if call.body:
            headers["Content-Type"] = "application/json"
        request = self._client.build_request(call.method, call.url, headers=headers, content=call.body or None)
        return await self._client.send(request, stream=True)


async def pieces_of(response: httpx.Response, max_bytes: int) -> AsyncGenerator[bytes, None]:
    """Yield the body of a response as it comes, and let others run meanwhile.

    Raises:
        CallFailedError: it is too large, or comes in very many very small pieces, each of which costs as much as a
            large one.
    """
    size = count = 0
    async for piece in response.aiter_raw():
        size += len(piece)
        count += 1
        if size > max_bytes:
            raise CallFailedError(f"the answer is larger than {max_bytes // 1024} KiB")
        if count > _MAX_PIECES and size < count * _MIN_PIECE_BYTES:
            raise CallFailedError("the answer comes in pieces of a few bytes: the server must buffer it")
        if count % _PIECES_AT_ONCE == 0:
            # What is buffered already comes without a pause in which others could run.
            await asyncio.sleep(0)
        yield piece


def decoded(body: bytes) -> object:
    """Read JSON.

    Raises:
        CallFailedError: it is none.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CallFailedError("the answer is no JSON") from error


def _refusal(response: httpx.Response) -> str:
    if response.is_redirect:
        return f"the server redirects (status {response.status_code}), which is not followed: write the final URL"
    if response.is_success:
        return "the answer is compressed, which was not asked for"
    return f"the server answers with status {response.status_code}"


def _media_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds of the server's Retry-After; 0 without."""
    value = str(response.headers.get("retry-after", "")).strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        until = email.utils.parsedate_to_datetime(value)
    except (ValueError, OverflowError, TypeError):
        return 0.0
    return max(0.0, (until - dt.datetime.now(dt.UTC)).total_seconds()) if until.tzinfo else 0.0
