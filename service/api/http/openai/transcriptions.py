"""``POST /v1/audio/transcriptions``, ``translations``: recognition in the upload."""

from __future__ import annotations

import asyncio
import contextlib
import json
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.messages import Transcript
from pipelines.errors import InvalidInputError, ReportedError
from pipelines.session.config import ConversationConfig
from pipelines.text.style import has_words
from pipelines.turns.state import TurnSettings
from service.api.http.caller_check import headers_of
from service.api.http.openai.transcription_request import DIARIZED, RECOGNITION_FIELDS, to_request
from service.api.http.openai.transcripts import MEDIA_TYPES, segments_of, text_of, usage_of, written
from service.api.http.openai.uploads import Field, form_parts
from service.api.http.problems import report
from service.sessions.recordings import refuse_failure, without_live_ends

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from typing import Any

    from starlette.types import Receive, Scope, Send

    from pipelines.session.conversation import Conversation
    from service.api.http.openai.transcription_request import TranscriptionRequest
    from service.sessions.host import SessionHost

MAX_HELD_BYTES = 25 << 20
"""Of a file before the fields that say how it is recognized: as much as OpenAI's own service takes at all."""
_HELD_STEP_BYTES = 1 << 20


class Transcriptions:
    """Recognizes recordings; an ASGI application.

    Args:
        host: makes the conversations; a recording takes the place of one.
        translates: whether what is said is translated into English.
    """

    def __init__(self, host: SessionHost, *, translates: bool = False) -> None:
        self._host = host
        self._translates = translates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Recognize one recording; see ASGI."""
        host = self._host
        with host.admission.conversation(), contextlib.ExitStack() as held:
            read = partial(to_request, host=host, translates=self._translates)
            upload = _Upload(headers_of(scope), receive, host, held, read)
            request = await upload.begin()
            config = ConversationConfig(
                audio_format=AudioFormat(Encoding.CONTAINER),
                turns=without_live_ends(TurnSettings(replies=False)),
                recognition=request.recognition,
                is_bulk=True,
                variants=request.variants,
                diarization=request.diarization,
            )
            conversation = host.conversation(config)
            response = _Response(send, request)
            async with host.open_conversations.holding(conversation, whole=True):
                listening = asyncio.create_task(upload.listen(conversation), name="upload")
                telling = asyncio.create_task(response.tell(conversation), name="transcripts")
                try:
                    done, _ = await asyncio.wait((listening, telling), return_when=asyncio.FIRST_COMPLETED)
                    # Listening ends with an error alone, if only because the caller is gone.
                    for task in (listening, telling):
                        if task in done:
                            task.result()
                    await response.finish(upload.final_request(), conversation.audio_seconds)
                except ReportedError as error:
                    if not await response.fail(error):
                        raise
                finally:
                    for task in (listening, telling):
                        task.cancel()
                    await asyncio.wait((listening, telling))
                    host.admission.quotas.charge_audio(conversation.audio_seconds)


class _Upload:
    """One form: the fields that came, and the file."""

    def __init__(
        self,
        headers: dict[str, str],
        receive: Receive,
        host: SessionHost,
        held: contextlib.ExitStack,
        read: Callable[[Mapping[str, Sequence[str]]], TranscriptionRequest],
    ) -> None:
        self._read = read
        self._parts = form_parts(headers, receive)
        self._receive = receive
        self._host = host
        self._memory = held
        self._fields: dict[str, list[str]] = {}
        self._begun: list[bytes] = []
        self._begun_with: TranscriptionRequest | None = None

    async def begin(self) -> TranscriptionRequest:
        """Read up to the file: most clients send the fields first.

        Raises:
            InvalidInputError: the form cannot be served.
        """
        size = held = 0
        async for part in self._parts:
            if isinstance(part, Field):
                self._fields.setdefault(part.name, []).append(part.value)
                continue
            self._begun.append(part.data)
            size += len(part.data)
            if "model" in self._fields or size > MAX_HELD_BYTES:
                break
            while held < size:
                self._memory.enter_context(self._host.memory.reserve(_HELD_STEP_BYTES))
                held += _HELD_STEP_BYTES
        self._begun_with = self._read(self._fields)
        return self._begun_with

    async def listen(self, conversation: Conversation) -> None:
        """Forward the file with back-pressure, and wait for the caller's end.

        Raises:
            ClientDisconnect: he is.
            InvalidInputError: the file is no audio, or a field came too late.
        """
        size = 0
        begun, self._begun = self._begun, []
        with _named_file():
            async for data in self._pieces(begun):
                size += len(data)
                await conversation.add_audio(data)
            if not size:
                raise InvalidInputError("file", "EMPTY_AUDIO", "the recording is empty: send its audio")
            await conversation.half_close()
        self._memory.close()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        raise ClientDisconnect

    def final_request(self) -> TranscriptionRequest:
        """Read all fields, those behind the file too."""
        return self._read(self._fields)

    async def _pieces(self, begun: list[bytes]) -> AsyncIterator[bytes]:
        while begun:
            if data := begun.pop(0):
                yield data
        async for part in self._parts:
            if not isinstance(part, Field):
                yield part.data
                continue
            if (part.name in RECOGNITION_FIELDS or part.value == DIARIZED) and not self._is_known(part):
                message = f"{part.name} came behind the file, which is recognized already: send it before the file"
                raise InvalidInputError(part.name, "FIELD_TOO_LATE", message)
            self._fields.setdefault(part.name, []).append(part.value)

    def _is_known(self, field: Field) -> bool:
        """Return whether a field behind the file says nothing new."""
        begun = self._begun_with
        if field.value == DIARIZED:
            return begun is not None and begun.diarization is not None
        with_it = self._read({**self._fields, field.name: [*self._fields.get(field.name, ()), field.value]})
        return begun is not None and (begun.variants, begun.recognition) == (with_it.variants, with_it.recognition)


class _Response:
    """The response to one request: whole, or as server-sent events."""

    def __init__(self, send: Send, request: TranscriptionRequest) -> None:
        self._send = send
        self._streams = request.stream
        self._is_diarized = request.response_format == DIARIZED
        self._segments = 0
        self._transcripts: list[Transcript] = []
        self._has_begun = False

    async def tell(self, conversation: Conversation) -> None:
        """Take in what is recognized, and tell it where it is streamed.

        Raises:
            ModelError: the recognizer failed.
            NotReadyError: the server shut down before everything was recognized.
        """
        async for message in conversation.outbox:
            refuse_failure(conversation, message)
            if isinstance(message, Transcript) and message.is_final and has_words(message.text):
                delta = f" {message.text}" if self._transcripts else message.text
                self._transcripts.append(message)
                if self._streams:
                    await self._event({"type": "transcript.text.delta", "delta": delta})
                    if self._is_diarized:
                        for segment in segments_of(message, self._segments):
                            self._segments += 1
                            await self._event(segment)

    async def fail(self, error: Exception) -> bool:
        """Tell an error in a stream that has begun; return whether it has."""
        if not self._has_begun:
            return False
        problem = report(error)
        await self._write(b"event: error\ndata: " + _json({"error": problem.openai_error()}) + b"\n\n", more=False)
        return True

    async def finish(self, request: TranscriptionRequest, seconds: float) -> None:
        """End the response."""
        if self._streams or request.stream:
            if not self._streams and self._transcripts:
                await self._event({"type": "transcript.text.delta", "delta": text_of(self._transcripts)})
            done = {"type": "transcript.text.done", "text": text_of(self._transcripts), "usage": usage_of(seconds)}
            await self._event(done)
            await self._write(b"data: [DONE]\n\n", more=False)
            return
        # An hour may have thousands of words.
        body = await asyncio.to_thread(written, self._transcripts, seconds, request)
        await self._start(MEDIA_TYPES[request.response_format], len(body))
        await self._write(body, more=False)

    async def _event(self, event: dict[str, Any]) -> None:
        if not self._has_begun:
            await self._start("text/event-stream; charset=utf-8")
        await self._write(b"data: " + _json(event) + b"\n\n", more=True)

    async def _start(self, media_type: str, length: int | None = None) -> None:
        self._has_begun = True
        headers = [(b"content-type", media_type.encode()), (b"cache-control", b"no-store")]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _write(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


@contextlib.contextmanager
def _named_file() -> Iterator[None]:
    """Let errors about audio name the form's field.

    Raises:
        InvalidInputError: what the body raises.
    """
    try:
        yield
    except InvalidInputError as error:
        if error.field != "audio" and not error.field.startswith("config.audio"):
            raise
        raise InvalidInputError("file", error.reason, str(error)) from error


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
