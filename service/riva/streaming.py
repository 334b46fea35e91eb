"""One stream of ``StreamingRecognize``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.messages import AwayReason, GoingAway, Transcript
from service.errors import SHUTTING_DOWN, IdleStreamError, NotReadyError, OldStreamError
from service.lifetime import LifetimeWatch
from service.malformed import refuse_malformed
from service.riva.fields import renamed
from service.riva.ordering import InTurnOrder
from service.riva.proto import riva_asr_pb2 as pb
from service.riva.recognizing import refuse_failure
from service.writing import write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.conversation import Conversation
    from service.errors import Context
    from service.lifetime import Limits
    from service.riva.recognizing import Recognition
    from service.riva.results import ResultWriter

_FORCE_END = "force_eou"


class RecognitionStream:
    """Reads what the caller sends beside writing what is recognized.

    Args:
        recognition: recognizes the audio.
        context: the call.
        limits: how long it may be silent, and how long it may last.
        first: the first request: the caller's name for the stream is in it.
        tells_states: whether what goes on inside is told after every audio.
    """

    def __init__(
        self,
        recognition: Recognition,
        context: Context,
        limits: Limits,
        first: pb.StreamingRecognizeRequest,
        *,
        tells_states: bool,
    ) -> None:
        self._recognition = recognition
        self._context = context
        self._limits = limits
        self._id = first.id if first.HasField("id") else None
        self._tells_states = tells_states
        self._half_closed = False
        self._writing = asyncio.Lock()

    async def run(self, requests: AsyncIterator[pb.StreamingRecognizeRequest]) -> None:
        """Returns when all was recognized.

        Raises:
            InvalidInputError: a request cannot be served.
            ModelError: the recognizer failed.
            NotReadyError: the server shuts down.
            IdleStreamError: nothing was sent for too long.
            OldStreamError: the stream has lasted as long as one may.
            SlowReaderError: the caller does not read.
        """
        channels, writers = self._recognition.channels, self._recognition.writers
        reader = asyncio.create_task(self._read(requests))
        tellers = [
            asyncio.create_task(self._tell(conversation, writer))
            for conversation, writer in zip(channels.conversations, writers, strict=True)
        ]
        try:
            away = [each for each in await asyncio.gather(*tellers) if each is not None]
        finally:
            for task in (reader, *tellers):
                task.cancel()
            await asyncio.gather(reader, *tellers, return_exceptions=True)
        if away and not self._half_closed:
            raise _end(away[0].reason)

    async def _tell(self, conversation: Conversation, writer: ResultWriter) -> GoingAway | None:
        """Writes the transcripts of one channel until there are no more; returns why the server ends it, if it does."""
        away: GoingAway | None = None
        order = InTurnOrder()
        async for message in conversation.outbox:
            refuse_failure(conversation, message)
            if isinstance(message, GoingAway):
                away = message
            elif isinstance(message, Transcript):
                for transcript in order.add(message):
                    if transcript.text:
                        await self._write(await writer.streaming(transcript))
        return away

    async def _read(self, requests: AsyncIterator[pb.StreamingRecognizeRequest]) -> None:
        """Hands what the caller sends on; what is wrong with it ends the stream through the outboxes."""
        channels = self._recognition.channels
        try:
            with LifetimeWatch(channels, self._limits) as lifetime, renamed({"audio": "audio_content"}):
                async for request in requests:
                    lifetime.touch()
                    refuse_malformed(request)
                    await self._hand_on(request)
                self._half_closed = True
                await channels.half_close()
        except Exception as error:  # noqa: BLE001 - the writers report it to the caller
            channels.fail(error)

    async def _hand_on(self, request: pb.StreamingRecognizeRequest) -> None:
        channels = self._recognition.channels
        if request.WhichOneof("streaming_request") == "streaming_config":
            message = "a config came a second time: open another stream to change it"
            raise InvalidInputError("streaming_config", "SECOND_CONFIG", message)
        ends = _ends_utterance(request)
        if request.audio_content or not ends:
            if not request.HasField("audio_content"):
                message = "a request is empty: send audio_content, or end the stream"
                raise InvalidInputError("streaming_request", "EMPTY_REQUEST", message)
            await channels.add_audio(request.audio_content)
        if ends:
            channels.end_utterance()
        if self._tells_states:
            for writer in self._recognition.writers:
                await self._write(writer.states())

    async def _write(self, result: pb.StreamingRecognitionResult) -> None:
        async with self._writing:
            await write(self._context, pb.StreamingRecognizeResponse(results=[result], id=self._id))


def _ends_utterance(request: pb.StreamingRecognizeRequest) -> bool:
    """Reads ``runtime_config``.

    Raises:
        InvalidInputError: a key is not served, or its value is neither true nor false.
    """
    for key, value in request.runtime_config.items():
        if key != _FORCE_END:
            message = f"the option {key!r} is not served: {_FORCE_END} is the only one"
            raise InvalidInputError(f"runtime_config[{key}]", "UNKNOWN_OPTION", message)
        if value not in {"true", "false"}:
            message = f"the option {key} must be true or false"
            raise InvalidInputError(f"runtime_config[{key}]", "BAD_OPTION_VALUE", message)
    return request.runtime_config.get(_FORCE_END) == "true"


def _end(reason: AwayReason) -> Exception:
    match reason:
        case AwayReason.IDLE:
            return IdleStreamError()
        case AwayReason.AGE:
            return OldStreamError()
    return NotReadyError(SHUTTING_DOWN)
