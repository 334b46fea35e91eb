from service.api.riva.proto import riva_common_pb2 as _riva_common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RivaNLPConfigRequest(_message.Message):
    __slots__ = ("model_name",)
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    model_name: str
    def __init__(self, model_name: _Optional[str] = ...) -> None: ...

class RivaNLPConfigResponse(_message.Message):
    __slots__ = ("model_config",)
    class Config(_message.Message):
        __slots__ = ("model_name", "parameters")
        class ParametersEntry(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: str
            value: str
            def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
        MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
        PARAMETERS_FIELD_NUMBER: _ClassVar[int]
        model_name: str
        parameters: _containers.ScalarMap[str, str]
        def __init__(self, model_name: _Optional[str] = ..., parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...
    MODEL_CONFIG_FIELD_NUMBER: _ClassVar[int]
    model_config: _containers.RepeatedCompositeFieldContainer[RivaNLPConfigResponse.Config]
    def __init__(self, model_config: _Optional[_Iterable[_Union[RivaNLPConfigResponse.Config, _Mapping]]] = ...) -> None: ...

class NLPModelParams(_message.Message):
    __slots__ = ("model_name", "language_code")
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_CODE_FIELD_NUMBER: _ClassVar[int]
    model_name: str
    language_code: str
    def __init__(self, model_name: _Optional[str] = ..., language_code: _Optional[str] = ...) -> None: ...

class TextTransformRequest(_message.Message):
    __slots__ = ("text", "top_n", "model", "id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOP_N_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    text: _containers.RepeatedScalarFieldContainer[str]
    top_n: int
    model: NLPModelParams
    id: _riva_common_pb2.RequestId
    def __init__(self, text: _Optional[_Iterable[str]] = ..., top_n: _Optional[int] = ..., model: _Optional[_Union[NLPModelParams, _Mapping]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class TextTransformResponse(_message.Message):
    __slots__ = ("text", "id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    text: _containers.RepeatedScalarFieldContainer[str]
    id: _riva_common_pb2.RequestId
    def __init__(self, text: _Optional[_Iterable[str]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class TextClassRequest(_message.Message):
    __slots__ = ("text", "top_n", "model", "id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOP_N_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    text: _containers.RepeatedScalarFieldContainer[str]
    top_n: int
    model: NLPModelParams
    id: _riva_common_pb2.RequestId
    def __init__(self, text: _Optional[_Iterable[str]] = ..., top_n: _Optional[int] = ..., model: _Optional[_Union[NLPModelParams, _Mapping]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class Classification(_message.Message):
    __slots__ = ("class_name", "score")
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    class_name: str
    score: float
    def __init__(self, class_name: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class ClassificationResult(_message.Message):
    __slots__ = ("labels",)
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedCompositeFieldContainer[Classification]
    def __init__(self, labels: _Optional[_Iterable[_Union[Classification, _Mapping]]] = ...) -> None: ...

class TextClassResponse(_message.Message):
    __slots__ = ("results", "id")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ClassificationResult]
    id: _riva_common_pb2.RequestId
    def __init__(self, results: _Optional[_Iterable[_Union[ClassificationResult, _Mapping]]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class TokenClassRequest(_message.Message):
    __slots__ = ("text", "top_n", "model", "id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOP_N_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    text: _containers.RepeatedScalarFieldContainer[str]
    top_n: int
    model: NLPModelParams
    id: _riva_common_pb2.RequestId
    def __init__(self, text: _Optional[_Iterable[str]] = ..., top_n: _Optional[int] = ..., model: _Optional[_Union[NLPModelParams, _Mapping]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class TokenClassValue(_message.Message):
    __slots__ = ("token", "label", "span")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    token: str
    label: _containers.RepeatedCompositeFieldContainer[Classification]
    span: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, token: _Optional[str] = ..., label: _Optional[_Iterable[_Union[Classification, _Mapping]]] = ..., span: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class TokenClassSequence(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[TokenClassValue]
    def __init__(self, results: _Optional[_Iterable[_Union[TokenClassValue, _Mapping]]] = ...) -> None: ...

class TokenClassResponse(_message.Message):
    __slots__ = ("results", "id")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[TokenClassSequence]
    id: _riva_common_pb2.RequestId
    def __init__(self, results: _Optional[_Iterable[_Union[TokenClassSequence, _Mapping]]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class AnalyzeIntentContext(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AnalyzeIntentOptions(_message.Message):
    __slots__ = ("previous_intent", "vectors", "domain", "lang")
    PREVIOUS_INTENT_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    LANG_FIELD_NUMBER: _ClassVar[int]
    previous_intent: str
    vectors: AnalyzeIntentContext
    domain: str
    lang: str
    def __init__(self, previous_intent: _Optional[str] = ..., vectors: _Optional[_Union[AnalyzeIntentContext, _Mapping]] = ..., domain: _Optional[str] = ..., lang: _Optional[str] = ...) -> None: ...

class AnalyzeIntentRequest(_message.Message):
    __slots__ = ("query", "options", "id")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    query: str
    options: AnalyzeIntentOptions
    id: _riva_common_pb2.RequestId
    def __init__(self, query: _Optional[str] = ..., options: _Optional[_Union[AnalyzeIntentOptions, _Mapping]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class AnalyzeIntentResponse(_message.Message):
    __slots__ = ("intent", "slots", "domain_str", "domain", "id")
    INTENT_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_STR_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    intent: Classification
    slots: _containers.RepeatedCompositeFieldContainer[TokenClassValue]
    domain_str: str
    domain: Classification
    id: _riva_common_pb2.RequestId
    def __init__(self, intent: _Optional[_Union[Classification, _Mapping]] = ..., slots: _Optional[_Iterable[_Union[TokenClassValue, _Mapping]]] = ..., domain_str: _Optional[str] = ..., domain: _Optional[_Union[Classification, _Mapping]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class AnalyzeEntitiesOptions(_message.Message):
    __slots__ = ("lang",)
    LANG_FIELD_NUMBER: _ClassVar[int]
    lang: str
    def __init__(self, lang: _Optional[str] = ...) -> None: ...

class AnalyzeEntitiesRequest(_message.Message):
    __slots__ = ("query", "options", "id")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    query: str
    options: AnalyzeEntitiesOptions
    id: _riva_common_pb2.RequestId
    def __init__(self, query: _Optional[str] = ..., options: _Optional[_Union[AnalyzeEntitiesOptions, _Mapping]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class NaturalQueryRequest(_message.Message):
    __slots__ = ("query", "top_n", "context", "id")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    TOP_N_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    query: str
    top_n: int
    context: str
    id: _riva_common_pb2.RequestId
    def __init__(self, query: _Optional[str] = ..., top_n: _Optional[int] = ..., context: _Optional[str] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...

class NaturalQueryResult(_message.Message):
    __slots__ = ("answer", "score")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    answer: str
    score: float
    def __init__(self, answer: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class NaturalQueryResponse(_message.Message):
    __slots__ = ("results", "id")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[NaturalQueryResult]
    id: _riva_common_pb2.RequestId
    def __init__(self, results: _Optional[_Iterable[_Union[NaturalQueryResult, _Mapping]]] = ..., id: _Optional[_Union[_riva_common_pb2.RequestId, _Mapping]] = ...) -> None: ...
