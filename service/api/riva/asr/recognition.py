"""The servicer of ``nvidia.riva.asr.RivaSpeechRecognition``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import InvalidInputError
from pipelines.models.contracts import ASR
from pipelines.models.languages import ENGLISH
from service.api.riva.asr.conversations import Recognition
from service.api.riva.asr.options import ends_utterance
from service.api.riva.asr.recognizers import MODEL, recognizer_of
from service.api.riva.asr.recording import recognize
from service.api.riva.asr.settings import to_settings
from service.api.riva.asr.streaming import RecognitionStream
from service.api.riva.fields import renamed
from service.api.riva.proto import riva_asr_pb2 as pb
from service.api.vivavoce.converters import LANGUAGE
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.errors import reported_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.models.languages import Languages
    from service.grpc_server.errors import Context
    from service.sessions.host import SessionHost


class SpeechServicer:
    """Riva's speech recognition, on the conversations of ``vivavoce.v1``.

    Args:
        host: makes the conversations; a stream or a recording takes the place of one.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def Recognize(  # noqa: N802 - named by the contract
        self, request: pb.RecognizeRequest, context: Context
    ) -> pb.RecognizeResponse:
        """Recognize a recording; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            audio = request.audio
            with self._host.admission.conversation(), self._host.memory.reserve(len(audio)):
                settings = to_settings(request.config, "config", self._host, interim_results=False)
                recognition = Recognition(settings, self._host, is_bulk=True)
                async with self._host.open_conversations.holding(*recognition.channels.conversations, whole=True):
                    with renamed({"config.audio.channel_count": "config.audio_channel_count"}):
                        found = await recognize(recognition.channels, audio)
                    conversations = recognition.channels.conversations
                    self._host.admission.quotas.charge_audio(sum(one.audio_seconds for one in conversations))
                    results = [
                        await writer.offline(transcripts)
                        for writer, transcripts in zip(recognition.writers, found, strict=True)
                        if transcripts
                    ]
            return pb.RecognizeResponse(results=results, id=request.id if request.HasField("id") else None)

    async def StreamingRecognize(  # noqa: N802 - named by the contract
        self, requests: AsyncIterator[pb.StreamingRecognizeRequest], context: Context
    ) -> None:
        """Recognize a stream; see the contract."""
        async with reported_to(context):
            self._host.admission.check()
            # A place is given to those who have said what they want, not to everybody who connects.
            first = await self._first(requests)
            config = first.streaming_config
            interim_results = config.interim_results
            settings = to_settings(
                config.config, "streaming_config.config", self._host, interim_results=interim_results
            )
            with self._host.admission.conversation():
                recognition = Recognition(settings, self._host, tells_states=settings.vad_probabilities)
                stream = RecognitionStream(recognition, context, self._host, first)
                async with self._host.open_conversations.holding(*recognition.channels.conversations):
                    await stream.run(requests)

    async def GetRivaSpeechRecognitionConfig(  # noqa: N802 - named by the contract
        self, request: pb.RivaSpeechRecognitionConfigRequest, context: Context
    ) -> pb.RivaSpeechRecognitionConfigResponse:
        """Tell which models there are; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            self._host.admission.check()
            chosen = recognizer_of(request.model_name, self._host.engines, "model_name").get(ASR, "")
            every = ("", *self._host.engines.variants(ASR))
            return pb.RivaSpeechRecognitionConfigResponse(
                model_config=[
                    _model_config(variant or MODEL, self._host.languages({ASR: variant}), use)
                    for variant in (every if not request.model_name else (chosen,))
                    for use in ("online", "offline")
                ]
            )

    async def _first(self, requests: AsyncIterator[pb.StreamingRecognizeRequest]) -> pb.StreamingRecognizeRequest:
        """Read the first request; a stream that sends none must not be held for ever."""
        try:
            async with asyncio.timeout(self._host.limits.config_seconds):
                async for request in requests:
                    refuse_malformed(request)
                    if not request.HasField("streaming_config"):
                        break
                    # Before anything is said there is no utterance to end, but what is not served is refused here, too.
                    ends_utterance(request.runtime_config)
                    return request
        except TimeoutError:
            message = f"no config came within {self._host.limits.config_seconds:g} s: send it first, and at once"
            raise InvalidInputError("streaming_config", "NO_CONFIG", message) from None
        raise InvalidInputError("streaming_config", "NO_CONFIG", "the first request must be a streaming_config")


def _model_config(name: str, languages: Languages, use: str) -> pb.RivaSpeechRecognitionConfigResponse.Config:
    parameters = {
        "language_code": LANGUAGE if languages == ENGLISH else ",".join(languages.spoken),
        "sample_rate": str(MODEL_RATE_HZ),
        "streaming": str(use == "online"),
        "type": use,
    }
    return pb.RivaSpeechRecognitionConfigResponse.Config(model_name=name, parameters=parameters)
