"""One stream of ``StreamingRecognize``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.messages import GoingAway, Transcript
from service.api.riva.asr.options import ends_utterance
from service.api.riva.asr.ordering import InTurnOrder
from service.api.riva.asr.recognizing import refuse_failure
from service.api.riva.fields import renamed
from service.api.riva.proto import riva_asr_pb2 as pb
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.writing import write
from service.refusals import ended_early
from service.sessions.lifetime import LifetimeWatch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.session.conversation import Conversation
    from service.api.riva.asr.recognizing import Recognition
    from service.api.riva.asr.results import ResultWriter
    from service.grpc_server.errors import Context
    from service.sessions.lifetime import Limits

_FIELDS = {"audio": "audio_content", "config.audio.channel_count": "streaming_config.config.audio_channel_count"}


class RecognitionStream:
    """Reads what the caller sends beside writing what is recognized.

    Args:
        recognition: recognizes the audio.
        context: the call.
        limits: how long it may be silent, and how long it may last.
        first: the first request: the caller's name for the stream is in it.
    """

    def __init__(
        self, recognition: Recognition, context: Context, limits: Limits, first: pb.StreamingRecognizeRequest
    ) -> None:
        self._recognition = recognition
        self._context = context
        self._limits = limits
        self._id = first.id if first.HasField("id") else None
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
        if away and any(conversation.phase != "finished" for conversation in channels.conversations):
            raise ended_early(away[0].reason)

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
                    result = await writer.streaming(transcript)
                    if result is not None:
                        await self._write(result)
        return away

    async def _read(self, requests: AsyncIterator[pb.StreamingRecognizeRequest]) -> None:
        """Hands what the caller sends on; what is wrong with it ends the stream through the outboxes."""
        channels = self._recognition.channels
        try:
            with LifetimeWatch(channels, self._limits) as lifetime, renamed(_FIELDS):
                async for request in requests:
                    lifetime.touch()
                    refuse_malformed(request)
                    await self._hand_on(request)
                await channels.half_close()
        except Exception as error:  # noqa: BLE001 - the writers report it to the caller
            channels.fail(error)

    async def _hand_on(self, request: pb.StreamingRecognizeRequest) -> None:
        channels = self._recognition.channels
        if request.WhichOneof("streaming_request") == "streaming_config":
            message = "a config came a second time: open another stream to change it"
            raise InvalidInputError("streaming_config", "SECOND_CONFIG", message)
        ends = ends_utterance(request.runtime_config)
        if request.audio_content or not ends:
            if not request.HasField("audio_content"):
                message = "a request is empty: send audio_content, or end the stream"
                raise InvalidInputError("streaming_request", "EMPTY_REQUEST", message)
            await channels.add_audio(request.audio_content, self._tell_states_owed)
        if ends:
            channels.end_utterance()
        if self._recognition.tells_states:
            for writer in self._recognition.writers:
                await self._write(writer.states())

    async def _tell_states_owed(self) -> None:
        for writer in self._recognition.writers:
            if writer.owes_states:
                await self._write(writer.states())

    async def _write(self, result: pb.StreamingRecognitionResult) -> None:
        async with self._writing:
            await write(self._context, pb.StreamingRecognizeResponse(results=[result], id=self._id))
