"""Binds the servicers to the methods of Riva's contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
from google.protobuf.message_factory import GetMessageClass

from service.api.riva.asr.recognition import SpeechServicer
from service.api.riva.nlp.language import LanguageServicer
from service.api.riva.proto import riva_asr_pb2, riva_nlp_pb2, riva_tts_pb2
from service.api.riva.tts.synthesis import SynthesisServicer
from service.grpc_server.deserializers import MAX_RECEIVED_BYTES, MAX_RECORDING_BYTES, reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from starlette.routing import BaseRoute

    from service.sessions.host import SessionHost

_SPEECH = riva_asr_pb2.DESCRIPTOR.services_by_name["RivaSpeechRecognition"]
_LANGUAGE = riva_nlp_pb2.DESCRIPTOR.services_by_name["RivaLanguageUnderstanding"]
_SYNTHESIS = riva_tts_pb2.DESCRIPTOR.services_by_name["RivaSpeechSynthesis"]


class RivaApi:
    """NVIDIA Riva's contract; see ``service.api.registry.Api``."""

    def __init__(self, host: SessionHost) -> None:
        speech = SpeechServicer(host)
        language = LanguageServicer(host.models, host.admission, host.workload.bulk)
        self.handlers = {**riva_handlers(speech, language), **synthesis_handlers(SynthesisServicer(host))}
        self.recording_handlers = recording_handlers(speech)
        self.routes: Sequence[BaseRoute] = ()


def riva_handlers(speech: SpeechServicer, language: LanguageServicer) -> Mapping[str, grpc.GenericRpcHandler]:
    """Return the handlers of Riva's services for a server, by their names."""
    recognition = {
        **_recordings(speech, MAX_RECEIVED_BYTES),
        "StreamingRecognize": grpc.stream_stream_rpc_method_handler(
            speech.StreamingRecognize,
            reader(riva_asr_pb2.StreamingRecognizeRequest),
            riva_asr_pb2.StreamingRecognizeResponse.SerializeToString,
        ),
    }
    understanding = {
        method.name: grpc.unary_unary_rpc_method_handler(
            getattr(language, method.name),
            reader(GetMessageClass(method.input_type)),
            GetMessageClass(method.output_type).SerializeToString,
        )
        for method in _LANGUAGE.methods
    }
    return {
        _SPEECH.full_name: grpc.method_handlers_generic_handler(_SPEECH.full_name, recognition),
        _LANGUAGE.full_name: grpc.method_handlers_generic_handler(_LANGUAGE.full_name, understanding),
    }


def synthesis_handlers(synthesis: SynthesisServicer) -> Mapping[str, grpc.GenericRpcHandler]:
    """Return the handler of Riva's speech synthesis for a server, by its name."""
    methods = {
        "Synthesize": grpc.unary_unary_rpc_method_handler(
            synthesis.Synthesize,
            reader(riva_tts_pb2.SynthesizeSpeechRequest),
            riva_tts_pb2.SynthesizeSpeechResponse.SerializeToString,
        ),
        "SynthesizeOnline": grpc.stream_stream_rpc_method_handler(
            synthesis.SynthesizeOnline,
            reader(riva_tts_pb2.SynthesizeSpeechRequest),
            riva_tts_pb2.SynthesizeSpeechResponse.SerializeToString,
        ),
        "GetRivaSynthesisConfig": grpc.unary_unary_rpc_method_handler(
            synthesis.GetRivaSynthesisConfig,
            reader(riva_tts_pb2.RivaSynthesisConfigRequest),
            riva_tts_pb2.RivaSynthesisConfigResponse.SerializeToString,
        ),
    }
    return {_SYNTHESIS.full_name: grpc.method_handlers_generic_handler(_SYNTHESIS.full_name, methods)}


def recording_handlers(speech: SpeechServicer) -> Mapping[str, grpc.GenericRpcHandler]:
    """Return the handler for long recordings, without streams."""
    methods = _recordings(speech, MAX_RECORDING_BYTES)
    return {_SPEECH.full_name: grpc.method_handlers_generic_handler(_SPEECH.full_name, methods)}


def _recordings(speech: SpeechServicer, max_bytes: int) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
    return {
        "Recognize": grpc.unary_unary_rpc_method_handler(
            speech.Recognize,
            reader(riva_asr_pb2.RecognizeRequest, max_bytes),
            riva_asr_pb2.RecognizeResponse.SerializeToString,
        ),
        "GetRivaSpeechRecognitionConfig": grpc.unary_unary_rpc_method_handler(
            speech.GetRivaSpeechRecognitionConfig,
            reader(riva_asr_pb2.RivaSpeechRecognitionConfigRequest),
            riva_asr_pb2.RivaSpeechRecognitionConfigResponse.SerializeToString,
        ),
    }
