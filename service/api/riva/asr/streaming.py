"""One stream of ``StreamingRecognize``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.data.messages import SpeechPaused, Transcript
from pipelines.errors import InvalidInputError
from service.api.riva.asr.options import ends_utterance
from service.api.riva.asr.ordering import InTurnOrder
from service.api.riva.fields import renamed
from service.api.riva.proto import riva_asr_pb2 as pb
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.response_writer import write
from service.sessions.recordings import refuse_failure
from service.sessions.stream_session import StreamSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.data.messages import Message
    from service.api.riva.asr.conversations import Recognition
    from service.grpc_server.errors import Context
    from service.sessions.host import SessionHost

_FIELDS = {"audio": "audio_content", "config.audio.channel_count": "streaming_config.config.audio_channel_count"}


class RecognitionStream:
    """Recognizes one stream.

    Args:
        recognition: recognizes the audio.
        context: the call.
        host: has the limits of streams and callers.
        first: the first request: the caller's name for the stream is in it.
    """

    def __init__(
        self, recognition: Recognition, context: Context, host: SessionHost, first: pb.StreamingRecognizeRequest
    ) -> None:
        self._recognition = recognition
        self._channels = recognition.channels
        self._context = context
        self._host = host
        self._id = first.id if first.HasField("id") else None
        self._writing = asyncio.Lock()
        self._orders = [InTurnOrder() for _ in recognition.writers]

    async def run(self, requests: AsyncIterator[pb.StreamingRecognizeRequest]) -> None:
        """Return when all was recognized.

        Raises:
            ModelError: the recognizer failed.
            ServiceError: see :class:`StreamSession`.
        """
        channels = self._channels
        host = self._host
        # Before any response: gRPC cannot end a call whose first one, which would carry it, is not read.
        await self._context.send_initial_metadata(())
        session = StreamSession(
            channels, channels.conversations, host.limits, self._hand_on, self._tell, host.admission.quotas
        )
        with renamed(_FIELDS):
            await session.run(requests)

    async def _tell(self, channel: int, message: Message) -> None:
        """Write what one channel says that this contract has words for."""
        refuse_failure(self._channels.conversations[channel], message)
        if isinstance(message, SpeechPaused) and self._recognition.tells_partials:
            message = message.transcript()
        if isinstance(message, Transcript):
            for transcript in self._orders[channel].add(message):
                result = await self._recognition.writers[channel].streaming(transcript)
                if result is not None:
                    await self._write(result)

    async def _hand_on(self, request: pb.StreamingRecognizeRequest) -> None:
        refuse_malformed(request)
        if request.WhichOneof("streaming_request") == "streaming_config":
            message = "a config came a second time: open another stream to change it"
            raise InvalidInputError("streaming_config", "SECOND_CONFIG", message)
        ends = ends_utterance(request.runtime_config)
        if request.audio_content or not ends:
            if not request.HasField("audio_content"):
                message = "a request is empty: send audio_content, or end the stream"
                raise InvalidInputError("streaming_request", "EMPTY_REQUEST", message)
            await self._channels.add_audio(request.audio_content, self._tell_states_owed)
        if ends:
            self._channels.end_utterance()
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
