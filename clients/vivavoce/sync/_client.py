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
from vivavoce._config import AudioFormat, Document, Endpointing, PhraseHints
from vivavoce._speech_types import SPEECH_AUDIO, Pronunciation
from vivavoce.sync._background import background
from vivavoce.sync._controls import Controls
from vivavoce.sync._exchange import Exchange
from vivavoce.sync._speech import chunks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
    from datetime import datetime
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Self

    from vivavoce._client import Client as AsyncClient
    from vivavoce._dialog import Session
    from vivavoce._events import Event
    from vivavoce._reply import Reply
    from vivavoce._requests import Utterable
    from vivavoce._security import Tls, Token
    from vivavoce._speech import SpeechChunk
    from vivavoce._spoken import Interruption, ReplyVoice
    from vivavoce._tools import Tool

    _T = TypeVar("_T")

_DEFAULT_AUDIO = AudioFormat()


def connect(
    target: str = DEFAULT_TARGET,
    *,
    tls: Tls | bool = False,
    token: Token = "",
    connect_timeout_seconds: float = 5.0,
    response_timeout_seconds: float = 60.0,
) -> Client:
    """Makes a client, to be used as `with vivavoce.sync.connect(...) as client`.

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
        """Whether the conversation has ended; its last events may still be waiting."""
        return self._exchange.ended

    def send(self, said: Utterable) -> None:
        """Says something: audio, `EndOfUtterance()`, `TypedTurn(text)` or `ConversationUpdate(...)`.

        Waits while too much is not sent yet.

        Raises:
            RuntimeError: Everything was said, or the conversation has ended; iterating tells why.
        """
        self._exchange.say(said)

    def finish(self) -> None:
        """Says that nothing follows: the last replies come, and the iteration ends. May be called several times."""
        self._exchange.finish()

    def poll(self, timeout_seconds: float = 0.0) -> Event | None:
        """Returns the next event, or None if there is none within `timeout_seconds`, or none will follow.

        Raises:
            VivavoceError: The conversation has failed, in one of its kinds.
        """
        return self._exchange.take(timeout_seconds)

    def close(self) -> None:
        """Ends the conversation, whatever it is doing. May be called several times, and from any thread."""
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

    def converse(  # noqa: D417, PLR0913 - one keyword for each field of the config
        self,
        audio_chunks: Iterable[Utterable] | AsyncIterable[Utterable] | None = None,
        *,
        audio: AudioFormat | None = _DEFAULT_AUDIO,
        interim_results: bool = False,
        endpointing: Endpointing | None = None,
        documents: Iterable[Document | str] = (),
        phrase_hints: Sequence[PhraseHints] = (),
        reply_budget_seconds: float | None = None,
        max_alternatives: int = 0,
        reconnect_seconds: float = 0.0,
        variants: Mapping[str, str] | None = None,
        max_intents: int = 0,
        time_zone: str = "",
        current_time: datetime | None = None,
        ignore_engine_hints: bool = False,
        reply_audio: ReplyVoice | None = None,
        interruption: Interruption | None = None,
        agent: str = "",
        session: Session | None = None,
        knowledge: Sequence[str] = (),
        tools: Mapping[str, Tool] | None = None,
    ) -> Conversation:
        """Begins a conversation, and returns it: `for event in client.converse(...)`.

        Args:
            audio_chunks: What is said, as `vivavoce.Client.converse` takes it. A thread of its own iterates over it,
                for it may block, as a microphone does; a generator is closed on that thread. None: `Conversation.send`
                says it, and `Conversation.finish` ends it.
            audio, interim_results, endpointing, documents, phrase_hints, reply_budget_seconds, max_alternatives,
                reconnect_seconds, variants, max_intents, time_zone, current_time, ignore_engine_hints, reply_audio,
                interruption, agent, session, knowledge, tools: As `vivavoce.Client.converse` takes them.

        Raises:
            InvalidRequest: A value cannot be sent. What the server refuses is raised in the iteration.
            TypeError: An argument has another type.
        """
        if audio_chunks is not None:
            check_source(audio_chunks, audio)
        exchange = Exchange()

        async def begin() -> None:
            conversation = self._client.converse(
                audio_chunks if isinstance(audio_chunks, AsyncIterable) else exchange.said(),
                audio=audio,
                interim_results=interim_results,
                endpointing=endpointing,
                documents=documents,
                phrase_hints=phrase_hints,
                reply_budget_seconds=reply_budget_seconds,
                max_alternatives=max_alternatives,
                reconnect_seconds=reconnect_seconds,
                variants=variants,
                max_intents=max_intents,
                time_zone=time_zone,
                current_time=current_time,
                ignore_engine_hints=ignore_engine_hints,
                reply_audio=reply_audio,
                interruption=interruption,
                agent=agent,
                session=session,
                knowledge=knowledge,
                tools=tools,
            )
            exchange.begin(conversation)
            self._exchanges = {one for one in self._exchanges if not one.ended} | {exchange}

        self._run(begin)
        if audio_chunks is not None and not isinstance(audio_chunks, AsyncIterable):
            threading.Thread(target=exchange.feed, args=(audio_chunks,), name="vivavoce-audio", daemon=True).start()
        return Conversation(exchange)

    def ask(  # noqa: D417, PLR0913 - one keyword for each field of the request
        self,
        text: str,
        *,
        documents: Iterable[Document | str] = (),
        reply_budget_seconds: float | None = None,
        variants: Mapping[str, str] | None = None,
        max_intents: int = 0,
        time_zone: str = "",
        current_time: datetime | None = None,
        knowledge: Sequence[str] = (),
    ) -> Reply:
        """Asks for the reply to one typed turn.

        Args:
            text: The question or command, at most 2,000 code points.
            documents: Texts that the answer is looked for in.
            reply_budget_seconds: Time within which the reply is sent, 0.02 to 60; None leaves it to the server (0.3).
            variants, max_intents, time_zone, current_time, knowledge: See `converse`.

        Raises:
            VivavoceError: One of its kinds.
        """
        return self._run(
            lambda: self._client.ask(
                text,
                documents=documents,
                reply_budget_seconds=reply_budget_seconds,
                max_intents=max_intents,
                time_zone=time_zone,
                current_time=current_time,
                variants=variants,
                knowledge=knowledge,
            )
        )

    def say(
        self,
        text: str | None = None,
        *,
        ssml: str | None = None,
        voice: str = "",
        audio: AudioFormat = SPEECH_AUDIO,
        speed: float = 1.0,
        seed: int = 0,
        lexicon: Iterable[Pronunciation] = (),
    ) -> Generator[SpeechChunk, None, None]:
        """Has a text spoken: `for chunk in client.say("Good morning.")`. Takes what `vivavoce.Client.say` takes.

        Leaving the loop early ends the speech when the generator is closed.

        Raises:
            InvalidRequest: A value cannot be sent. What the server refuses is raised in the iteration.
            TypeError: An argument has another type.
        """

        async def begin() -> AsyncGenerator[SpeechChunk, None]:
            return self._client.say(text, ssml=ssml, voice=voice, audio=audio, speed=speed, seed=seed, lexicon=lexicon)

        return chunks(self._run(begin), self._run)

    def _run(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        if not self._open:
            raise RuntimeError("The client is not open; use it inside `with vivavoce.sync.connect(...) as client`.")
        try:
            return background.run(work())
        except CancelledError:
            raise RuntimeError("The client was closed while it waited for the server.") from None
