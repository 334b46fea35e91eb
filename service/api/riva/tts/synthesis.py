"""The servicer of ``nvidia.riva.tts.RivaSpeechSynthesis``."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from pipelines.audio.formats import SPEECH_RATE_HZ
from pipelines.errors import InvalidInputError
from pipelines.models.contracts import TTS
from pipelines.speech.synthesis import LANGUAGE, Speech, Voice
from service.api.riva.fields import check_model
from service.api.riva.proto import riva_tts_pb2 as pb
from service.api.riva.tts.settings import to_settings
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.errors import reported_to
from service.grpc_server.response_writer import write
from service.refusals import IdleStreamError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from pipelines.speech.synthesis import AudioPiece
    from service.grpc_server.errors import Context
    from service.sessions.host import SessionHost

MAX_WHOLE_BYTES = 4_000_000
"""Audio in one response: gRPC's clients take messages of 4 MiB unless they are told otherwise."""

_VOICE_FAMILY, _SUBVOICES = "English-US", "Heart:0"
"""Named as NVIDIA names voices: clients ask for "English-US.Heart" then."""


class SynthesisServicer:
    """Speaks for Riva's clients, with the voice and the rules of ``Say``.

    Args:
        host: has the models, and knows who is let in; a text takes the place of a typed turn while it is spoken.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def Synthesize(  # noqa: N802 - named by the contract
        self, request: pb.SynthesizeSpeechRequest, context: Context
    ) -> pb.SynthesizeSpeechResponse:
        """Speak a text whole; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            audio, spoken = bytearray(), list[str]()
            async with contextlib.aclosing(self._spoken(request)) as pieces:
                async for piece in pieces:
                    audio += piece.audio
                    spoken += (mark.text for mark in piece.marks)
                    if len(audio) > MAX_WHOLE_BYTES:
                        message = f"the speech has more than {MAX_WHOLE_BYTES:,} bytes: use SynthesizeOnline"
                        raise InvalidInputError("text", "SPEECH_TOO_LONG", message)
            return _response(request, bytes(audio), " ".join(spoken))

    async def SynthesizeOnline(  # noqa: N802 - named by the contract
        self, requests: AsyncIterator[pb.SynthesizeSpeechRequest], context: Context
    ) -> None:
        """Speak texts as they come; see the contract."""
        async with reported_to(context):
            while (request := await self._next(requests)) is not None:
                refuse_malformed(request)
                async with contextlib.aclosing(self._spoken(request)) as pieces:
                    async for piece in pieces:
                        spoken = " ".join(mark.text for mark in piece.marks)
                        await write(context, _response(request, piece.audio, spoken))

    async def GetRivaSynthesisConfig(  # noqa: N802 - named by the contract
        self, request: pb.RivaSynthesisConfigRequest, context: Context
    ) -> pb.RivaSynthesisConfigResponse:
        """Tell which voices there are; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            self._host.admission.check()
            check_model(request.model_name, (TTS,), "model_name")
            return pb.RivaSynthesisConfigResponse(model_config=map(_config, self._host.voices))

    async def _next(self, requests: AsyncIterator[pb.SynthesizeSpeechRequest]) -> pb.SynthesizeSpeechRequest | None:
        """Read the next request, within the idle time-out."""
        try:
            async with asyncio.timeout(self._host.limits.idle_seconds):
                return await anext(requests, None)
        except TimeoutError:
            raise IdleStreamError from None

    async def _spoken(self, request: pb.SynthesizeSpeechRequest) -> AsyncGenerator[AudioPiece, None]:
        """Yield what is spoken of a request, while it holds a place."""
        host = self._host
        host.admission.check()
        settings = to_settings(request, host)
        async with host.admission.typed_turn():
            model = host.models.get(TTS, settings.voice.variant)
            speech = Speech(model, settings.sentences, settings.seed, host.workload.bulk)
            async with contextlib.aclosing(speech.encoded(settings.audio_format)) as pieces:
                async for piece in pieces:
                    yield piece


def _config(voice: Voice) -> pb.RivaSynthesisConfigResponse.Config:
    """Describe a voice; the shipped one as NVIDIA's are called."""
    is_shipped = not voice.variant
    parameters = {
        "language_code": LANGUAGE if is_shipped and voice.language == "en" else voice.language,
        "voice_name": _VOICE_FAMILY if is_shipped else voice.name,
        "subvoices": _SUBVOICES if is_shipped else "",
        "sample_rate": str(SPEECH_RATE_HZ),
    }
    return pb.RivaSynthesisConfigResponse.Config(model_name=TTS, parameters=parameters)


def _response(request: pb.SynthesizeSpeechRequest, audio: bytes, spoken: str) -> pb.SynthesizeSpeechResponse:
    return pb.SynthesizeSpeechResponse(
        audio=audio,
        meta=pb.SynthesizeSpeechResponseMetadata(text=spoken, processed_text=spoken),
        id=request.id if request.HasField("id") else None,
    )
