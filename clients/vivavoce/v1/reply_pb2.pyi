import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DialogCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIALOG_CAUSE_UNSPECIFIED: _ClassVar[DialogCause]
    DIALOG_CAUSE_TURN: _ClassVar[DialogCause]
    DIALOG_CAUSE_BEGIN: _ClassVar[DialogCause]
    DIALOG_CAUSE_NO_INPUT: _ClassVar[DialogCause]
    DIALOG_CAUSE_KEYS: _ClassVar[DialogCause]
    DIALOG_CAUSE_FULFILMENT: _ClassVar[DialogCause]
    DIALOG_CAUSE_LATE: _ClassVar[DialogCause]

class DialogEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIALOG_END_UNSPECIFIED: _ClassVar[DialogEnd]
    DIALOG_END_DONE: _ClassVar[DialogEnd]
    DIALOG_END_HAND_OVER: _ClassVar[DialogEnd]

class ReplyStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPLY_STATUS_UNSPECIFIED: _ClassVar[ReplyStatus]
    REPLY_STATUS_COMPLETE: _ClassVar[ReplyStatus]
    REPLY_STATUS_PARTIAL: _ClassVar[ReplyStatus]
    REPLY_STATUS_DEGRADED: _ClassVar[ReplyStatus]

class UtteranceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UTTERANCE_KIND_UNSPECIFIED: _ClassVar[UtteranceKind]
    UTTERANCE_KIND_COMMAND: _ClassVar[UtteranceKind]
    UTTERANCE_KIND_QUESTION: _ClassVar[UtteranceKind]
    UTTERANCE_KIND_STATEMENT: _ClassVar[UtteranceKind]

class ValueKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VALUE_KIND_UNSPECIFIED: _ClassVar[ValueKind]
    VALUE_KIND_DATE: _ClassVar[ValueKind]
    VALUE_KIND_TIME: _ClassVar[ValueKind]
    VALUE_KIND_DATE_TIME: _ClassVar[ValueKind]
    VALUE_KIND_INTERVAL: _ClassVar[ValueKind]
    VALUE_KIND_DURATION: _ClassVar[ValueKind]
    VALUE_KIND_RECURRENCE: _ClassVar[ValueKind]
    VALUE_KIND_NUMBER: _ClassVar[ValueKind]
    VALUE_KIND_ORDINAL: _ClassVar[ValueKind]
    VALUE_KIND_MONEY: _ClassVar[ValueKind]
    VALUE_KIND_PERCENTAGE: _ClassVar[ValueKind]
    VALUE_KIND_TEMPERATURE: _ClassVar[ValueKind]

class Stage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STAGE_UNSPECIFIED: _ClassVar[Stage]
    STAGE_ASR: _ClassVar[Stage]
    STAGE_NLU: _ClassVar[Stage]
    STAGE_QA: _ClassVar[Stage]
DIALOG_CAUSE_UNSPECIFIED: DialogCause
DIALOG_CAUSE_TURN: DialogCause
DIALOG_CAUSE_BEGIN: DialogCause
DIALOG_CAUSE_NO_INPUT: DialogCause
DIALOG_CAUSE_KEYS: DialogCause
DIALOG_CAUSE_FULFILMENT: DialogCause
DIALOG_CAUSE_LATE: DialogCause
DIALOG_END_UNSPECIFIED: DialogEnd
DIALOG_END_DONE: DialogEnd
DIALOG_END_HAND_OVER: DialogEnd
REPLY_STATUS_UNSPECIFIED: ReplyStatus
REPLY_STATUS_COMPLETE: ReplyStatus
REPLY_STATUS_PARTIAL: ReplyStatus
REPLY_STATUS_DEGRADED: ReplyStatus
UTTERANCE_KIND_UNSPECIFIED: UtteranceKind
UTTERANCE_KIND_COMMAND: UtteranceKind
UTTERANCE_KIND_QUESTION: UtteranceKind
UTTERANCE_KIND_STATEMENT: UtteranceKind
VALUE_KIND_UNSPECIFIED: ValueKind
VALUE_KIND_DATE: ValueKind
VALUE_KIND_TIME: ValueKind
VALUE_KIND_DATE_TIME: ValueKind
VALUE_KIND_INTERVAL: ValueKind
VALUE_KIND_DURATION: ValueKind
VALUE_KIND_RECURRENCE: ValueKind
VALUE_KIND_NUMBER: ValueKind
VALUE_KIND_ORDINAL: ValueKind
VALUE_KIND_MONEY: ValueKind
VALUE_KIND_PERCENTAGE: ValueKind
VALUE_KIND_TEMPERATURE: ValueKind
STAGE_UNSPECIFIED: Stage
STAGE_ASR: Stage
STAGE_NLU: Stage
STAGE_QA: Stage

class Reply(_message.Message):
    __slots__ = ("turn", "transcript", "intent", "slots", "answer", "status", "overran", "latency", "speculated", "model_versions", "request_id", "overran_stages", "speech_text", "readings", "values", "dialog", "results", "speaker")
    class ModelVersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ResultsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Struct
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
    TURN_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OVERRAN_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    SPECULATED_FIELD_NUMBER: _ClassVar[int]
    MODEL_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    OVERRAN_STAGES_FIELD_NUMBER: _ClassVar[int]
    SPEECH_TEXT_FIELD_NUMBER: _ClassVar[int]
    READINGS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    DIALOG_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    turn: int
    transcript: str
    intent: Intent
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    answer: Answer
    status: ReplyStatus
    overran: _containers.RepeatedScalarFieldContainer[Stage]
    latency: Latency
    speculated: bool
    model_versions: _containers.ScalarMap[str, int]
    request_id: str
    overran_stages: _containers.RepeatedScalarFieldContainer[str]
    speech_text: str
    readings: _containers.RepeatedCompositeFieldContainer[Reading]
    values: _containers.RepeatedCompositeFieldContainer[Value]
    dialog: Dialog
    results: _containers.MessageMap[str, _struct_pb2.Struct]
    speaker: Speaker
    def __init__(self, turn: _Optional[int] = ..., transcript: _Optional[str] = ..., intent: _Optional[_Union[Intent, _Mapping]] = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ..., status: _Optional[_Union[ReplyStatus, str]] = ..., overran: _Optional[_Iterable[_Union[Stage, str]]] = ..., latency: _Optional[_Union[Latency, _Mapping]] = ..., speculated: _Optional[bool] = ..., model_versions: _Optional[_Mapping[str, int]] = ..., request_id: _Optional[str] = ..., overran_stages: _Optional[_Iterable[str]] = ..., speech_text: _Optional[str] = ..., readings: _Optional[_Iterable[_Union[Reading, _Mapping]]] = ..., values: _Optional[_Iterable[_Union[Value, _Mapping]]] = ..., dialog: _Optional[_Union[Dialog, _Mapping]] = ..., results: _Optional[_Mapping[str, _struct_pb2.Struct]] = ..., speaker: _Optional[_Union[Speaker, _Mapping]] = ...) -> None: ...

class Speaker(_message.Message):
    __slots__ = ("tag", "name")
    TAG_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tag: int
    name: str
    def __init__(self, tag: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class Dialog(_message.Message):
    __slots__ = ("intent", "slots", "asked", "confirming", "fulfilments", "end", "parameters", "cause")
    class SlotsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    INTENT_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    CONFIRMING_FIELD_NUMBER: _ClassVar[int]
    FULFILMENTS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    intent: str
    slots: _containers.ScalarMap[str, str]
    asked: str
    confirming: bool
    fulfilments: _containers.RepeatedCompositeFieldContainer[Fulfilment]
    end: DialogEnd
    parameters: _containers.ScalarMap[str, str]
    cause: DialogCause
    def __init__(self, intent: _Optional[str] = ..., slots: _Optional[_Mapping[str, str]] = ..., asked: _Optional[str] = ..., confirming: _Optional[bool] = ..., fulfilments: _Optional[_Iterable[_Union[Fulfilment, _Mapping]]] = ..., end: _Optional[_Union[DialogEnd, str]] = ..., parameters: _Optional[_Mapping[str, str]] = ..., cause: _Optional[_Union[DialogCause, str]] = ...) -> None: ...

class Fulfilment(_message.Message):
    __slots__ = ("number", "name", "intent", "slots")
    class SlotsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    number: int
    name: str
    intent: str
    slots: _containers.ScalarMap[str, str]
    def __init__(self, number: _Optional[int] = ..., name: _Optional[str] = ..., intent: _Optional[str] = ..., slots: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Reading(_message.Message):
    __slots__ = ("intent", "slots", "start", "end")
    INTENT_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    intent: Intent
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    start: int
    end: int
    def __init__(self, intent: _Optional[_Union[Intent, _Mapping]] = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Intent(_message.Message):
    __slots__ = ("name", "confidence", "kind", "negated", "candidates")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NEGATED_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    name: str
    confidence: float
    kind: UtteranceKind
    negated: bool
    candidates: _containers.RepeatedCompositeFieldContainer[IntentCandidate]
    def __init__(self, name: _Optional[str] = ..., confidence: _Optional[float] = ..., kind: _Optional[_Union[UtteranceKind, str]] = ..., negated: _Optional[bool] = ..., candidates: _Optional[_Iterable[_Union[IntentCandidate, _Mapping]]] = ...) -> None: ...

class IntentCandidate(_message.Message):
    __slots__ = ("name", "confidence")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    confidence: float
    def __init__(self, name: _Optional[str] = ..., confidence: _Optional[float] = ...) -> None: ...

class Slot(_message.Message):
    __slots__ = ("name", "value", "text", "start", "end", "resolved")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    text: str
    start: int
    end: int
    resolved: Value
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., text: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., resolved: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("kind", "value", "unit", "alternative", "text", "start", "end")
    KIND_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    kind: ValueKind
    value: str
    unit: str
    alternative: str
    text: str
    start: int
    end: int
    def __init__(self, kind: _Optional[_Union[ValueKind, str]] = ..., value: _Optional[str] = ..., unit: _Optional[str] = ..., alternative: _Optional[str] = ..., text: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("text", "score", "start", "end", "document_id", "source")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    text: str
    score: float
    start: int
    end: int
    document_id: str
    source: AnswerSource
    def __init__(self, text: _Optional[str] = ..., score: _Optional[float] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., document_id: _Optional[str] = ..., source: _Optional[_Union[AnswerSource, _Mapping]] = ...) -> None: ...

class AnswerSource(_message.Message):
    __slots__ = ("base", "title", "headings", "page", "passage")
    BASE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    HEADINGS_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    PASSAGE_FIELD_NUMBER: _ClassVar[int]
    base: str
    title: str
    headings: _containers.RepeatedScalarFieldContainer[str]
    page: int
    passage: str
    def __init__(self, base: _Optional[str] = ..., title: _Optional[str] = ..., headings: _Optional[_Iterable[str]] = ..., page: _Optional[int] = ..., passage: _Optional[str] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("id", "text")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Latency(_message.Message):
    __slots__ = ("total", "stages")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    total: _duration_pb2.Duration
    stages: _containers.RepeatedCompositeFieldContainer[StageLatency]
    def __init__(self, total: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stages: _Optional[_Iterable[_Union[StageLatency, _Mapping]]] = ...) -> None: ...

class StageLatency(_message.Message):
    __slots__ = ("stage", "queue", "compute", "name")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    stage: Stage
    queue: _duration_pb2.Duration
    compute: _duration_pb2.Duration
    name: str
    def __init__(self, stage: _Optional[_Union[Stage, str]] = ..., queue: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., compute: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., name: _Optional[str] = ...) -> None: ...
