"""Calls as Riva's clients make them, in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.api.riva.proto import riva_asr_pb2 as pb
from service.api.riva.proto import riva_asr_pb2_grpc, riva_audio_pb2, riva_nlp_pb2_grpc
from tests.unit.service.harness import SPEECH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.unit.service.harness import Harness


def recognition(**fields: object) -> pb.RecognitionConfig:
    """Recognizes 16 kHz PCM as it is written by the fake recognizer, unless ``fields`` say otherwise."""
    chosen = {
        "encoding": riva_audio_pb2.LINEAR_PCM,
        "sample_rate_hertz": 16_000,
        "enable_automatic_punctuation": True,
        "verbatim_transcripts": True,
    }
    return pb.RecognitionConfig(**(chosen | fields))


def config(*, interim_results: bool = False, **fields: object) -> pb.StreamingRecognizeRequest:
    chosen = pb.StreamingRecognitionConfig(config=recognition(**fields), interim_results=interim_results)
    return pb.StreamingRecognizeRequest(streaming_config=chosen)


def audio(data: bytes, **runtime_config: str) -> pb.StreamingRecognizeRequest:
    return pb.StreamingRecognizeRequest(audio_content=data, runtime_config=runtime_config)


def speaking(seconds: float) -> list[pb.StreamingRecognizeRequest]:
    return [audio(SPEECH)] * round(seconds * 10)


def speech(harness: Harness) -> riva_asr_pb2_grpc.RivaSpeechRecognitionStub:
    return riva_asr_pb2_grpc.RivaSpeechRecognitionStub(harness.channel)


def language(harness: Harness) -> riva_nlp_pb2_grpc.RivaLanguageUnderstandingStub:
    return riva_nlp_pb2_grpc.RivaLanguageUnderstandingStub(harness.channel)


async def stream(
    harness: Harness, requests: Iterable[pb.StreamingRecognizeRequest]
) -> list[pb.StreamingRecognizeResponse]:
    """Sends all requests, half-closes, and returns all responses."""
    return await harness.exchange(
        lambda channel: riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel).StreamingRecognize, requests
    )


def finals(responses: Iterable[pb.StreamingRecognizeResponse]) -> list[str]:
    """Returns the best transcripts that stay, without the space that each ends with."""
    results = [result for response in responses for result in response.results if result.is_final]
    return [result.alternatives[0].transcript.removesuffix(" ") for result in results]
