"""Servicer of ``Say`` in ``vivavoce.v1``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from google.protobuf import duration_pb2

from pipelines.models.contracts import TTS
from pipelines.speech.script import check_speed, sentences_of_ssml, sentences_of_text
from pipelines.speech.synthesis import Speech
from service.api.vivavoce.voices import check_seed, to_format, to_lexicon
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.errors import reported_to
from service.grpc_server.response_writer import write
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from pipelines.data.speech import Mark
    from pipelines.speech.synthesis import AudioPiece
    from service.grpc_server.errors import Context
    from service.sessions.host import SessionHost


class SpeechServicer:
    """Answers ``Say``.

    Args:
        host: has the models, and knows who is let in.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def Say(self, request: pb.SayRequest, context: Context) -> None:  # noqa: N802 - named by the contract
        """Speak a text; a caller who stops reading gets SLOW_READER."""
        host = self._host
        async with reported_to(context):
            refuse_malformed(request)
            host.admission.check()
            audio_format = to_format(request, "")
            speech = to_speech(request, host)
            async with host.admission.typed_turn(), contextlib.aclosing(speech.encoded(audio_format)) as pieces:
                async for piece in pieces:
                    await write(context, to_response(piece))


def to_speech(request: pb.SayRequest, host: SessionHost) -> Speech:
    """Read what is spoken.

    Raises:
        InvalidInputError: it cannot be; the error names the field.
    """
    voice = host.choose_voice(request.voice, "voice", request.language_code)
    speed = check_speed(request.speed, "speed")
    seed = check_seed(request.seed, "seed")
    lexicon = to_lexicon(request.lexicon, "lexicon")
    match request.WhichOneof("input"):
        case "ssml":
            sentences = sentences_of_ssml(request.ssml, lexicon, speed, language=voice.language)
        case _:
            sentences = sentences_of_text(request.text, lexicon, speed, language=voice.language)
    return Speech(host.models.get(TTS, voice.variant), sentences, seed, host.workload.bulk)


def to_response(piece: AudioPiece) -> pb.SayResponse:
    """Write a piece of speech."""
    return pb.SayResponse(audio=piece.audio, sentences=map(_mark, piece.marks))


def _mark(mark: Mark) -> pb.SentenceMark:
    start = duration_pb2.Duration()
    start.FromMicroseconds(round(1e6 * mark.seconds))
    return pb.SentenceMark(text=mark.text, start=start)
