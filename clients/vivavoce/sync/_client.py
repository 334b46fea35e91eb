"""The client of one server, and its conversations, without asyncio."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import AsyncIterable, Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, NoReturn

from vivavoce._checks import check_source
from vivavoce._client import DEFAULT_TARGET
from vivavoce._client import connect as connect_async
from vivavoce._config import DEFAULT_AUDIO
from vivavoce._speech_types import SPEECH_AUDIO, Pronunciation
from vivavoce.sync._background import background
from vivavoce.sync._controls import Controls
from vivavoce.sync._exchange import Exchange
from vivavoce.sync._speech import chunks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Self, Unpack

    from vivavoce._client import Client as AsyncClient
    from vivavoce._config import AudioFormat
    from vivavoce._events import Event
    from vivavoce._options import AskOptions, ConverseOptions
    from vivavoce._reply import Reply
    from vivavoce._requests import Utterable
    from vivavoce._security import Tls, Token
    from vivavoce._speech import SpeechChunk

    _T = TypeVar("_T")


def connect(
    target: str = DEFAULT_TARGET,
    *,
    tls: Tls | bool = False,
    token: Token = "",
    connect_timeout_seconds: float = 5.0,
    response_timeout_seconds: float = 60.0,
) -> Client:
    """Make a client, to be used as `with vivavoce.sync.connect(...) as client`.

    Args:
        target: Address of the server, `HOST:PORT` or `unix:/PATH`; IPv6 as `[::1]:50051`.
        tls: Whether the connection is encrypted, or how: `vivavoce.Tls(ca="ca.pem")`.
        token: What proves who calls, or a function that returns it; over TLS, or to this machine.
        connect_timeout_seconds: How long a call waits for the connection.
        response_timeout_seconds: How long the server may be silent when everything was sent to it, and how long it may
            take nothing of what is sent.

    Raises:
        InvalidRequest: The address is none, or a token would be sent in the clear to another machine.
    """
    seconds = {"connect_timeout_seconds": connect_timeout_seconds, "response_timeout_seconds": response_timeout_seconds}
    return Client(connect_async(target, tls=tls, token=token, **seconds))


class Conversation(Controls, Iterator["Event"]):
    """One conversation: an iterator over its events, made by `Client.converse`.

    Iteration may stop and go on. The conversation ends with its last event, with `close`, with the block of a `with`
    statement, and when nothing refers to it any more.
    """

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        weakref.finalize(self, exchange.close_soon).atexit = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __next__(self) -> Event:
        event = self._exchange.take(None)
        if event is None:
            raise StopIteration
        return event

    @property
    def closed(self) -> bool:
        """True once the conversation has ended; its last events may still be waiting."""
        return self._exchange.ended

    def send(self, said: Utterable) -> None:
        """Send audio, `EndOfUtterance()`, `TypedTurn(text)` or `ConversationUpdate(...)`.

        Waits while too much is not sent yet.

        Raises:
            RuntimeError: Everything was said, or the conversation has ended; iterating tells why.
        """
        self._exchange.say(said)

    def finish(self) -> None:
        """Announce the end: the iteration ends after the last replies. Idempotent."""
        self._exchange.finish()

    def poll(self, timeout_seconds: float = 0.0) -> Event | None:
        """Return the next event; None if there is none within `timeout_seconds`.

        Raises:
            VivavoceError: The conversation has failed, in one of its kinds.
        """
        return self._exchange.take(timeout_seconds)

    def close(self) -> None:
        """End the conversation at once. May be called several times, from any thread."""
        self._exchange.close()


class Client:
    """Talks to one server, for any number of threads. Made by `connect`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._process = os.getpid()
        self._open = False
        self._exchanges: set[Exchange] = set()

    def __enter__(self) -> Self:
        background.run(self._client.__aenter__())
        self._process, self._open = os.getpid(), True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process != os.getpid():
            return  # The connection is the parent's, who closes it.
        self._open = False
        exchanges, self._exchanges = self._exchanges, set()
        for exchange in exchanges:
            exchange.close_soon()
        for exchange in exchanges:
            exchange.close()
        background.run(self._client.__aexit__(kind, error, traceback))

    def __aenter__(self) -> NoReturn:
        raise TypeError("This client is not asynchronous: write `with`, or `async with vivavoce.connect(...)`.")

    def __aexit__(self, *_error: object) -> NoReturn:
        raise TypeError("This client is not asynchronous: write `with`.")

    def converse(
        self,
        audio_chunks: Iterable[Utterable] | AsyncIterable[Utterable] | None = None,
        **options: Unpack[ConverseOptions],
    ) -> Conversation:
        """Begin a conversation, and return it: `for event in client.converse(...)`.

        Args:
            audio_chunks: What is said, as `vivavoce.Client.converse` takes it. A thread of its own iterates over it,
                for it may block, as a microphone does; a generator is closed on that thread. None: `Conversation.send`
                says it, and `Conversation.finish` ends it.
            **options: The fields of `vivavoce.ConverseOptions`, each by its name.

        Raises:
            InvalidRequest: A value cannot be sent. What the server refuses is raised in the iteration.
            TypeError: An argument has another type.
        """
        if audio_chunks is not None:
            check_source(audio_chunks, options.get("audio", DEFAULT_AUDIO))
        exchange = Exchange()

        async def begin() -> None:
            said = audio_chunks if isinstance(audio_chunks, AsyncIterable) else exchange.said()
            exchange.begin(self._client.converse(said, **options))
            self._exchanges = {one for one in self._exchanges if not one.ended} | {exchange}

        self._run(begin)
        if audio_chunks is not None and not isinstance(audio_chunks, AsyncIterable):
            threading.Thread(target=exchange.feed, args=(audio_chunks,), name="vivavoce-audio", daemon=True).start()
        return Conversation(exchange)

    def ask(self, text: str, **options: Unpack[AskOptions]) -> Reply:
        """Ask for the reply to one typed turn.

        Args:
            text: The question or command, at most 2,000 code points.
            **options: The fields of `vivavoce.AskOptions`, each by its name.

        Raises:
            VivavoceError: One of its kinds.
        """
        return self._run(lambda: self._client.ask(text, **options))

    def say(  # noqa: PLR0913 - one an option
        self,
        text: str | None = None,
        *,
        ssml: str | None = None,
        voice: str = "",
        language: str = "",
        audio: AudioFormat = SPEECH_AUDIO,
        speed: float = 1.0,
        seed: int = 0,
        lexicon: Iterable[Pronunciation] = (),
    ) -> Generator[SpeechChunk, None, None]:
        """Synthesize a text, as `vivavoce.Client.say`: `for chunk in client.say("Hi.")`.

        Leaving the loop early ends the speech when the generator is closed.

        Raises:
            InvalidRequest: A value cannot be sent. What the server refuses is raised in the iteration.
            TypeError: An argument has another type.
        """

        async def begin() -> AsyncGenerator[SpeechChunk, None]:
            return self._client.say(
                text,
                ssml=ssml,
                voice=voice,
                language=language,
                audio=audio,
                speed=speed,
                seed=seed,
                lexicon=lexicon,
            )

        return chunks(self._run(begin), self._run)

    def _run(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        if not self._open:
            raise RuntimeError("The client is not open; use it inside `with vivavoce.sync.connect(...) as client`.")
        try:
            return background.run(work())
        except CancelledError:
            raise RuntimeError("The client was closed while it waited for the server.") from None
