"""The client of one server."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import grpc

from vivavoce._checks import check_seconds, check_source, check_target
from vivavoce._config import DEFAULT_AUDIO, DEFAULT_STOP_WINDOW_SECONDS
from vivavoce._connection import open_channel, reach, stub
from vivavoce._conversation import Conversation
from vivavoce._options import AskOptions, ConverseOptions, check_options
from vivavoce._requests import Utterable, ask_request, conversation_config
from vivavoce._responses import prompt_event, reply_event
from vivavoce._security import Security, Tls, Token, check_security
from vivavoce._speech import SpeechChunk, say_request, speech
from vivavoce._speech_types import SPEECH_AUDIO, Pronunciation
from vivavoce._status import error_from_rpc
from vivavoce._stream import Server
from vivavoce._tools import check_tools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterable
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from vivavoce._config import AudioFormat
    from vivavoce._reply import Reply

DEFAULT_TARGET = "localhost:50051"


def connect(
    target: str = DEFAULT_TARGET,
    *,
    tls: Tls | bool = False,
    token: Token = "",
    connect_timeout_seconds: float = 5.0,
    response_timeout_seconds: float = 60.0,
) -> Client:
    """Make a client, to be used as `async with vivavoce.connect(...) as client`.

    Entering it begins to connect but does not wait: what is said meanwhile is kept. A server that cannot be reached
    shows as `ServerUnavailable` in the first call.

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
    return Client(
        check_target(target),
        check_security(target, tls, token),
        check_seconds("connect_timeout_seconds", connect_timeout_seconds),
        check_seconds("response_timeout_seconds", response_timeout_seconds),
    )


class Client:
    """Talks to one server; many calls may run at once. Made by `connect`."""

    def __init__(
        self, target: str, security: Security, connect_timeout_seconds: float, response_timeout_seconds: float
    ) -> None:
        self._target = target
        self._security = security
        self._connect_timeout_seconds = connect_timeout_seconds
        self._response_timeout_seconds = response_timeout_seconds
        self._channel: grpc.aio.Channel | None = None
        self._conversations: set[Conversation] = set()

    async def __aenter__(self) -> Self:
        self._channel = open_channel(self._target, self._security)
        return self

    def __enter__(self) -> NoReturn:
        raise TypeError(
            "This client is asynchronous: write `async with vivavoce.connect(...) as client`. "
            "For programs without asyncio there is `vivavoce.sync.connect`."
        )

    def __exit__(self, *_error: object) -> None:
        """Never called."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        channel, self._channel = self._channel, None
        for conversation in self._conversations:
            await conversation.aclose()
        self._conversations.clear()
        if channel is not None:
            await channel.close(None)

    def converse(
        self, audio_chunks: AsyncIterable[Utterable] | Iterable[Utterable], **options: Unpack[ConverseOptions]
    ) -> Conversation:
        """Hold a conversation: `async for event in client.converse(...)`.

        It ends when the audio has come to its end and the last reply is there. Leaving the loop early ends it at
        once. An error that `audio_chunks` raises is raised as it is.

        Args:
            audio_chunks: What is said, chunk by chunk: bytes in the encoding of `audio`, or arrays of floats (-1 to 1)
                or int16 of shape [n] (mono) or [n, channels]; among them `EndOfUtterance()`, `TypedTurn(text)` and
                `ConversationUpdate(...)`. An asynchronous iterator is asked for more than was sent yet, up to a bound,
                and an asynchronous generator is closed when the conversation ends.
            **options: The fields of `ConverseOptions`, each by its name.

        Returns:
            The events, as they arrive.

        Raises:
            InvalidRequest: A value cannot be sent. What the server refuses, and chunks that are no audio, are raised
                in the iteration.
            TypeError: An argument has another type.
        """
        check_options(options, ConverseOptions, "converse")
        audio, endpointing = options.get("audio", DEFAULT_AUDIO), options.get("endpointing")
        config = conversation_config(options)
        window_seconds = None if endpointing is None else endpointing.stop_window_seconds
        conversation = Conversation(
            self._server(),
            config,
            check_source(audio_chunks, audio),
            audio,
            stop_window_seconds=DEFAULT_STOP_WINDOW_SECONDS if window_seconds is None else window_seconds,
            reconnect_seconds=check_seconds("reconnect_seconds", options.get("reconnect_seconds", 0.0)),
            tools=check_tools(options.get("tools")),
        )
        self._conversations = {one for one in self._conversations if not one.closed} | {conversation}
        return conversation

    async def ask(self, text: str, **options: Unpack[AskOptions]) -> Reply:
        """Ask for the reply to one typed turn.

        Args:
            text: The question or command, at most 2,000 code points.
            **options: The fields of `AskOptions`, each by its name.

        Raises:
            VivavoceError: One of its kinds.
        """
        check_options(options, AskOptions, "ask")
        request = ask_request(text, options)
        server = self._server()
        await reach(server.channel, server.target, server.connect_timeout_seconds)
        asked = time.monotonic()
        try:
            response = await stub(server.channel).Ask(
                request, timeout=server.response_timeout_seconds, metadata=server.security.metadata
            )
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error, server.target) from error
        seconds = time.monotonic() - asked
        return replace(
            reply_event(response.reply),
            client_latency_seconds=seconds,
            turn_latency_seconds=seconds,
            followed=tuple(map(prompt_event, response.followed)),
        )

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
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Have a text spoken: `async for chunk in client.say("Good morning.")`.

        Leaving the loop early ends the speech at once, when the generator is closed.

        Args:
            text: Text in the voice's language, at most 10,000 code points. Figures, amounts, dates and times in English
                are spoken as people say them.
            ssml: SSML 1.1 in place of a text.
            voice: Name of the voice; "" for the first that speaks the language.
            language: Tag of the text's language, such as `de-DE`; "" for that of the voice.
            audio: Format that the audio comes in, on one channel, 8,000 to 48,000 Hz; neither FLAC nor CONTAINER.
            speed: How fast it is spoken, 0.5 to 2.
            seed: The same seed, text and settings give the same audio.
            lexicon: How words are pronounced, at most 200.

        Returns:
            The audio, as it is ready.

        Raises:
            InvalidRequest: A value cannot be sent. What the server refuses is raised in the iteration.
            TypeError: An argument has another type.
        """
        request = say_request(
            text=text,
            ssml=ssml,
            voice=voice,
            language=language,
            audio=audio,
            speed=speed,
            seed=seed,
            lexicon=lexicon,
        )
        return speech(self._server(), request)

    def _server(self) -> Server:
        if self._channel is None:
            raise RuntimeError("The client is not open; use it inside `async with vivavoce.connect(...) as client`.")
        return Server(
            self._channel,
            self._target,
            self._connect_timeout_seconds,
            self._response_timeout_seconds,
            self._security,
        )
