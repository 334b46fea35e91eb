"""``POST /v1/audio/speech``: a text is spoken, and sent as it is ready."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from starlette.responses import StreamingResponse

from pipelines.audio.formats import SPEECH_RATE_HZ
from pipelines.audio.speech_files import SpeechFile, SpeechFileWriter
from pipelines.errors import InvalidInputError
from pipelines.models.contracts import TTS
from pipelines.speech.lexicon import Lexicon
from pipelines.speech.script import NOTHING_TO_SPEAK, check_speed, sentences_of_ssml, sentences_of_text
from pipelines.speech.ssml import is_ssml
from pipelines.speech.synthesis import Speech
from service.api.http.openai.bodies import json_body
from service.api.http.openai.names import check_synthesizer, voice_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from service.sessions.host import SessionHost

STREAM_FORMATS = ("audio", "sse")
_SEED = 0
"""OpenAI's requests have none; the same text is spoken the same way."""
_SILENCE_SECONDS = 0.3
_FORMATS = {kind.name.lower(): kind for kind in SpeechFile}


class SpeechRequest(msgspec.Struct, frozen=True):
    """Body of a request.

    Attributes:
        input: what is spoken; SSML where its root is ``speak``.
        model: name of the model.
        voice: name of the voice, or an object with its ``id``.
        response_format: kind of file.
        speed: 1 for the voice's own.
        stream_format: the file itself, or server-sent events with pieces of it.
        instructions: how it is to be spoken; of no effect.
    """

    input: str
    model: str = ""
    voice: str | dict[str, Any] = ""
    response_format: str | None = None
    speed: float | None = None
    stream_format: str | None = None
    instructions: str | None = None


class SpeechEndpoint:
    """Speaks texts.

    Args:
        host: has the models, and knows who is let in; a text takes the place of a typed turn while it is spoken.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def speak(self, request: Request) -> Response:
        """Answer one request."""
        self._host.admission.check()
        asked = await json_body(request, SpeechRequest)
        kind = _FORMATS.get(asked.response_format or "mp3")
        if kind is None:
            message = f"the format {str(asked.response_format)[:40]!r} is not written: choose {', '.join(_FORMATS)}"
            raise InvalidInputError("response_format", "UNSUPPORTED_ENCODING", message)
        stream_format = asked.stream_format or "audio"
        if stream_format not in STREAM_FORMATS:
            message = f"the stream format {stream_format[:40]!r} is unknown: choose audio or sse"
            raise InvalidInputError("stream_format", "UNKNOWN_FORMAT", message)
        pieces = _silent(kind) if (speech := self._speech(asked)) is None else self._pieces(speech, kind)
        try:
            # What can go wrong mostly does before the first piece: then the response has the right status.
            first = await anext(pieces)
        except BaseException:
            await pieces.aclose()
            raise
        whole = _chained(first, pieces)
        if stream_format == "sse":
            return _Streamed(_events(whole), media_type="text/event-stream")
        return _Streamed(whole, media_type=kind.value)

    def _speech(self, asked: SpeechRequest) -> Speech | None:
        """Return the text to speak; None for signs alone, such as "..."."""
        check_synthesizer(asked.model)
        name = asked.voice if isinstance(asked.voice, str) else str(asked.voice.get("id", ""))
        voice, speed = voice_of(name, self._host), check_speed(asked.speed or 0.0, "speed")
        read = sentences_of_ssml if is_ssml(asked.input) else sentences_of_text
        try:
            sentences = read(asked.input, Lexicon(), speed, field="input", language=voice.language)
        except InvalidInputError as error:
            if error.reason == NOTHING_TO_SPEAK:
                return None
            raise
        return Speech(self._host.models.get(TTS, voice.variant), sentences, _SEED, self._host.workload.bulk)

    async def _pieces(self, speech: Speech, kind: SpeechFile) -> AsyncGenerator[bytes, None]:
        """Yield the file piece by piece, while it holds a place."""
        writer = SpeechFileWriter(kind)
        async with self._host.admission.typed_turn(), contextlib.aclosing(speech.samples()) as spoken:
            async for samples, _ in spoken:
                # Compressing a second takes milliseconds, in which the event loop would serve nobody.
                write = writer.write
                piece = await asyncio.to_thread(write, samples) if writer.compresses else write(samples)
                if piece:
                    yield piece
            yield await asyncio.to_thread(writer.close)


async def _silent(kind: SpeechFile) -> AsyncGenerator[bytes, None]:
    """Yield the file of a short silence."""
    writer = SpeechFileWriter(kind)
    yield writer.write(np.zeros(round(_SILENCE_SECONDS * SPEECH_RATE_HZ), np.float32)) + writer.close()


class _Streamed(StreamingResponse):
    """A response whose generator ends with it, not when it is collected."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], media_type: str) -> None:
        super().__init__(pieces, media_type=media_type)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._pieces.aclose()


async def _chained(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with contextlib.aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


async def _events(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            yield _event({"type": "speech.audio.delta", "audio": base64.b64encode(piece).decode()})
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        yield _event({"type": "speech.audio.done", "usage": usage})


def _event(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"
