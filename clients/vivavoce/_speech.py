"""Speech synthesis: the request, and the stream of audio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

from vivavoce._connection import reach, stub
from vivavoce._errors import InvalidRequest, ResponseOverdue
from vivavoce._refusing import refusing
from vivavoce._spoken_requests import check_speech_format, lexicon_entries
from vivavoce._status import error_from_rpc
from vivavoce._timeout import timeout
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from vivavoce._config import AudioFormat
    from vivavoce._speech_types import Pronunciation
    from vivavoce._stream import Server


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence that begins in the audio."""

    text: str
    """The sentence, as it was written."""
    start_seconds: float
    """Seconds from the start of the audio."""


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """The next piece of speech."""

    audio: bytes
    """In the format that was asked for; at most 32 KiB."""
    sentences: tuple[SpokenSentence, ...] = ()
    """Sentences that begin in this chunk or soon after it."""


def say_request(  # noqa: PLR0913 - one an option
    *,
    text: str | None,
    ssml: str | None,
    voice: str,
    language: str,
    audio: AudioFormat,
    speed: float,
    seed: int,
    lexicon: Iterable[Pronunciation],
) -> pb.SayRequest:
    """Make the request for speech.

    Raises:
        InvalidRequest: The message cannot hold a value, or there is not one text.
        TypeError: A value is of another type.
    """
    if (text is None) == (ssml is None):
        raise InvalidRequest("Either a text or `ssml` is spoken; give one of them.", field="text")
    for name, value in (("text", text), ("ssml", ssml), ("voice", voice), ("language", language)):
        if not isinstance(value, str | None):
            raise TypeError(f"{name} is a str, not {type(value).__name__}.")
    check_speech_format(audio)
    with refusing("text"):
        request = pb.SayRequest(text=text) if ssml is None else pb.SayRequest(ssml=ssml)
    with refusing("audio"):
        request.encoding = audio.encoding.value
        request.sample_rate_hz = audio.sample_rate_hz
    with refusing("voice"):
        request.voice = voice
    with refusing("language_code"):
        request.language_code = language
    with refusing("speed"):
        request.speed = speed
    with refusing("seed"):
        request.seed = seed
    with refusing("lexicon"):
        request.lexicon.extend(lexicon_entries(lexicon))
    return request


async def speech(server: Server, request: pb.SayRequest) -> AsyncGenerator[SpeechChunk, None]:
    """Yield speech as it comes; leaving the iteration early ends it at once."""
    await reach(server.channel, server.target, server.connect_timeout_seconds)
    call = stub(server.channel).Say(request, metadata=server.security.metadata)
    try:
        while True:
            async with timeout(server.response_timeout_seconds):
                response = await call.read()
            if response is grpc.aio.EOF:
                return
            yield SpeechChunk(
                response.audio,
                tuple(SpokenSentence(mark.text, mark.start.ToMicroseconds() / 1e6) for mark in response.sentences),
            )
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error, server.target) from error
    except TimeoutError:
        raise ResponseOverdue(f"The server at {server.target} did not answer in time; try again.") from None
    finally:
        call.cancel()
