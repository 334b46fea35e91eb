"""Binds the servicers to the methods of Riva's contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
from google.protobuf.message_factory import GetMessageClass

from service.malformed import reader
from service.riva.proto import riva_asr_pb2, riva_nlp_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.riva.language import LanguageServicer
    from service.riva.speech import SpeechServicer

MAX_RECORDING_BYTES = 336 << 20
"""An hour of 16-bit samples on one channel at 48 kHz, with room for a header."""

_SPEECH = riva_asr_pb2.DESCRIPTOR.services_by_name["RivaSpeechRecognition"]
_LANGUAGE = riva_nlp_pb2.DESCRIPTOR.services_by_name["RivaLanguageUnderstanding"]

SERVICE_NAMES = (_SPEECH.full_name, _LANGUAGE.full_name)


def riva_handlers(speech: SpeechServicer, language: LanguageServicer) -> Mapping[str, grpc.GenericRpcHandler]:
    """Returns the handlers of Riva's services for a server, by their names."""
    recognition = {
        "Recognize": grpc.unary_unary_rpc_method_handler(
            speech.Recognize,
            reader(riva_asr_pb2.RecognizeRequest, MAX_RECORDING_BYTES),
            riva_asr_pb2.RecognizeResponse.SerializeToString,
        ),
        "StreamingRecognize": grpc.stream_stream_rpc_method_handler(
            speech.StreamingRecognize,
            reader(riva_asr_pb2.StreamingRecognizeRequest),
            riva_asr_pb2.StreamingRecognizeResponse.SerializeToString,
        ),
        "GetRivaSpeechRecognitionConfig": grpc.unary_unary_rpc_method_handler(
            speech.GetRivaSpeechRecognitionConfig,
            reader(riva_asr_pb2.RivaSpeechRecognitionConfigRequest),
            riva_asr_pb2.RivaSpeechRecognitionConfigResponse.SerializeToString,
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
