import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from vivavoce.v1 import reply_pb2 as _reply_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AudioEncoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUDIO_ENCODING_UNSPECIFIED: _ClassVar[AudioEncoding]
    AUDIO_ENCODING_LINEAR_PCM: _ClassVar[AudioEncoding]
    AUDIO_ENCODING_FLAC: _ClassVar[AudioEncoding]
    AUDIO_ENCODING_MULAW: _ClassVar[AudioEncoding]
    AUDIO_ENCODING_ALAW: _ClassVar[AudioEncoding]
    AUDIO_ENCODING_OGGOPUS: _ClassVar[AudioEncoding]
    AUDIO_ENCODING_LINEAR_PCM_FLOAT32: _ClassVar[AudioEncoding]
    AUDIO_ENCODING_CONTAINER: _ClassVar[AudioEncoding]

class EndpointingMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENDPOINTING_MODE_UNSPECIFIED: _ClassVar[EndpointingMode]
    ENDPOINTING_MODE_MODEL: _ClassVar[EndpointingMode]
    ENDPOINTING_MODE_SILENCE: _ClassVar[EndpointingMode]

class Patience(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PATIENCE_UNSPECIFIED: _ClassVar[Patience]
    PATIENCE_EAGER: _ClassVar[Patience]
    PATIENCE_NORMAL: _ClassVar[Patience]
    PATIENCE_PATIENT: _ClassVar[Patience]

class EndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    END_REASON_UNSPECIFIED: _ClassVar[EndReason]
    END_REASON_SILENCE: _ClassVar[EndReason]
    END_REASON_REQUESTED: _ClassVar[EndReason]
    END_REASON_HALF_CLOSE: _ClassVar[EndReason]

class NoticeCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOTICE_CODE_UNSPECIFIED: _ClassVar[NoticeCode]
    NOTICE_CODE_STAGE_FAILED: _ClassVar[NoticeCode]
    NOTICE_CODE_NO_SPEECH: _ClassVar[NoticeCode]
    NOTICE_CODE_AUDIO_DAMAGED: _ClassVar[NoticeCode]
    NOTICE_CODE_MODEL_RECOVERED: _ClassVar[NoticeCode]
    NOTICE_CODE_TOOL_RESULT_IGNORED: _ClassVar[NoticeCode]

class GoingAwayReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GOING_AWAY_REASON_UNSPECIFIED: _ClassVar[GoingAwayReason]
    GOING_AWAY_REASON_SHUTDOWN: _ClassVar[GoingAwayReason]
    GOING_AWAY_REASON_IDLE: _ClassVar[GoingAwayReason]
    GOING_AWAY_REASON_AGE: _ClassVar[GoingAwayReason]

class InterruptionReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INTERRUPTION_REASON_UNSPECIFIED: _ClassVar[InterruptionReason]
    INTERRUPTION_REASON_SPEECH: _ClassVar[InterruptionReason]
    INTERRUPTION_REASON_TYPED: _ClassVar[InterruptionReason]
    INTERRUPTION_REASON_CANCELLED: _ClassVar[InterruptionReason]
AUDIO_ENCODING_UNSPECIFIED: AudioEncoding
AUDIO_ENCODING_LINEAR_PCM: AudioEncoding
AUDIO_ENCODING_FLAC: AudioEncoding
AUDIO_ENCODING_MULAW: AudioEncoding
AUDIO_ENCODING_ALAW: AudioEncoding
AUDIO_ENCODING_OGGOPUS: AudioEncoding
AUDIO_ENCODING_LINEAR_PCM_FLOAT32: AudioEncoding
AUDIO_ENCODING_CONTAINER: AudioEncoding
ENDPOINTING_MODE_UNSPECIFIED: EndpointingMode
ENDPOINTING_MODE_MODEL: EndpointingMode
ENDPOINTING_MODE_SILENCE: EndpointingMode
PATIENCE_UNSPECIFIED: Patience
PATIENCE_EAGER: Patience
PATIENCE_NORMAL: Patience
PATIENCE_PATIENT: Patience
END_REASON_UNSPECIFIED: EndReason
END_REASON_SILENCE: EndReason
END_REASON_REQUESTED: EndReason
END_REASON_HALF_CLOSE: EndReason
NOTICE_CODE_UNSPECIFIED: NoticeCode
NOTICE_CODE_STAGE_FAILED: NoticeCode
NOTICE_CODE_NO_SPEECH: NoticeCode
NOTICE_CODE_AUDIO_DAMAGED: NoticeCode
NOTICE_CODE_MODEL_RECOVERED: NoticeCode
NOTICE_CODE_TOOL_RESULT_IGNORED: NoticeCode
GOING_AWAY_REASON_UNSPECIFIED: GoingAwayReason
GOING_AWAY_REASON_SHUTDOWN: GoingAwayReason
GOING_AWAY_REASON_IDLE: GoingAwayReason
GOING_AWAY_REASON_AGE: GoingAwayReason
INTERRUPTION_REASON_UNSPECIFIED: InterruptionReason
INTERRUPTION_REASON_SPEECH: InterruptionReason
INTERRUPTION_REASON_TYPED: InterruptionReason
INTERRUPTION_REASON_CANCELLED: InterruptionReason

class ConverseRequest(_message.Message):
    __slots__ = ("config", "audio", "text", "end_of_utterance", "update", "playback", "cancel_reply", "dtmf", "tool_result", "request_id")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    END_OF_UTTERANCE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    PLAYBACK_FIELD_NUMBER: _ClassVar[int]
    CANCEL_REPLY_FIELD_NUMBER: _ClassVar[int]
    DTMF_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    config: ConversationConfig
    audio: bytes
    text: str
    end_of_utterance: EndOfUtterance
    update: ConversationUpdate
    playback: Playback
    cancel_reply: CancelReply
    dtmf: Dtmf
    tool_result: ToolResult
    request_id: str
    def __init__(self, config: _Optional[_Union[ConversationConfig, _Mapping]] = ..., audio: _Optional[bytes] = ..., text: _Optional[str] = ..., end_of_utterance: _Optional[_Union[EndOfUtterance, _Mapping]] = ..., update: _Optional[_Union[ConversationUpdate, _Mapping]] = ..., playback: _Optional[_Union[Playback, _Mapping]] = ..., cancel_reply: _Optional[_Union[CancelReply, _Mapping]] = ..., dtmf: _Optional[_Union[Dtmf, _Mapping]] = ..., tool_result: _Optional[_Union[ToolResult, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class EndOfUtterance(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ConversationUpdate(_message.Message):
    __slots__ = ("endpointing", "documents", "phrase_hints", "session", "knowledge", "variants", "second_opinion")
    ENDPOINTING_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    PHRASE_HINTS_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    VARIANTS_FIELD_NUMBER: _ClassVar[int]
    SECOND_OPINION_FIELD_NUMBER: _ClassVar[int]
    endpointing: EndpointingConfig
    documents: DocumentList
    phrase_hints: PhraseHintsList
    session: SessionParameters
    knowledge: KnowledgeList
    variants: VariantChoice
    second_opinion: str
    def __init__(self, endpointing: _Optional[_Union[EndpointingConfig, _Mapping]] = ..., documents: _Optional[_Union[DocumentList, _Mapping]] = ..., phrase_hints: _Optional[_Union[PhraseHintsList, _Mapping]] = ..., session: _Optional[_Union[SessionParameters, _Mapping]] = ..., knowledge: _Optional[_Union[KnowledgeList, _Mapping]] = ..., variants: _Optional[_Union[VariantChoice, _Mapping]] = ..., second_opinion: _Optional[str] = ...) -> None: ...

class VariantChoice(_message.Message):
    __slots__ = ("variants",)
    class VariantsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VARIANTS_FIELD_NUMBER: _ClassVar[int]
    variants: _containers.ScalarMap[str, str]
    def __init__(self, variants: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Dtmf(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: str
    def __init__(self, keys: _Optional[str] = ...) -> None: ...

class SessionParameters(_message.Message):
    __slots__ = ("parameters",)
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    parameters: _containers.ScalarMap[str, str]
    def __init__(self, parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...

class KnowledgeList(_message.Message):
    __slots__ = ("knowledge",)
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    knowledge: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, knowledge: _Optional[_Iterable[str]] = ...) -> None: ...

class DocumentList(_message.Message):
    __slots__ = ("documents",)
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[_reply_pb2.Document]
    def __init__(self, documents: _Optional[_Iterable[_Union[_reply_pb2.Document, _Mapping]]] = ...) -> None: ...

class PhraseHintsList(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[PhraseHints]
    def __init__(self, groups: _Optional[_Iterable[_Union[PhraseHints, _Mapping]]] = ...) -> None: ...

class ConversationConfig(_message.Message):
    __slots__ = ("audio", "language_code", "interim_results", "endpointing", "documents", "phrase_hints", "reply_budget", "max_alternatives", "variants", "reply_audio", "interruption", "agent", "session", "max_intents", "time_zone", "current_time", "ignore_engine_hints", "knowledge", "diarization", "second_opinion", "prompts")
    class VariantsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_CODE_FIELD_NUMBER: _ClassVar[int]
    INTERIM_RESULTS_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTING_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    PHRASE_HINTS_FIELD_NUMBER: _ClassVar[int]
    REPLY_BUDGET_FIELD_NUMBER: _ClassVar[int]
    MAX_ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    VARIANTS_FIELD_NUMBER: _ClassVar[int]
    REPLY_AUDIO_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MAX_INTENTS_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    CURRENT_TIME_FIELD_NUMBER: _ClassVar[int]
    IGNORE_ENGINE_HINTS_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    DIARIZATION_FIELD_NUMBER: _ClassVar[int]
    SECOND_OPINION_FIELD_NUMBER: _ClassVar[int]
    PROMPTS_FIELD_NUMBER: _ClassVar[int]
    audio: AudioConfig
    language_code: str
    interim_results: bool
    endpointing: EndpointingConfig
    documents: _containers.RepeatedCompositeFieldContainer[_reply_pb2.Document]
    phrase_hints: _containers.RepeatedCompositeFieldContainer[PhraseHints]
    reply_budget: _duration_pb2.Duration
    max_alternatives: int
    variants: _containers.ScalarMap[str, str]
    reply_audio: ReplyAudioConfig
    interruption: InterruptionConfig
    agent: str
    session: SessionConfig
    max_intents: int
    time_zone: str
    current_time: _timestamp_pb2.Timestamp
    ignore_engine_hints: bool
    knowledge: _containers.RepeatedScalarFieldContainer[str]
    diarization: DiarizationConfig
    second_opinion: str
    prompts: bool
    def __init__(self, audio: _Optional[_Union[AudioConfig, _Mapping]] = ..., language_code: _Optional[str] = ..., interim_results: _Optional[bool] = ..., endpointing: _Optional[_Union[EndpointingConfig, _Mapping]] = ..., documents: _Optional[_Iterable[_Union[_reply_pb2.Document, _Mapping]]] = ..., phrase_hints: _Optional[_Iterable[_Union[PhraseHints, _Mapping]]] = ..., reply_budget: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_alternatives: _Optional[int] = ..., variants: _Optional[_Mapping[str, str]] = ..., reply_audio: _Optional[_Union[ReplyAudioConfig, _Mapping]] = ..., interruption: _Optional[_Union[InterruptionConfig, _Mapping]] = ..., agent: _Optional[str] = ..., session: _Optional[_Union[SessionConfig, _Mapping]] = ..., max_intents: _Optional[int] = ..., time_zone: _Optional[str] = ..., current_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ignore_engine_hints: _Optional[bool] = ..., knowledge: _Optional[_Iterable[str]] = ..., diarization: _Optional[_Union[DiarizationConfig, _Mapping]] = ..., second_opinion: _Optional[str] = ..., prompts: _Optional[bool] = ...) -> None: ...

class DiarizationConfig(_message.Message):
    __slots__ = ("max_speakers",)
    MAX_SPEAKERS_FIELD_NUMBER: _ClassVar[int]
    max_speakers: int
    def __init__(self, max_speakers: _Optional[int] = ...) -> None: ...

class SessionConfig(_message.Message):
    __slots__ = ("id", "parameters")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    id: str
    parameters: _containers.ScalarMap[str, str]
    def __init__(self, id: _Optional[str] = ..., parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...

class AudioConfig(_message.Message):
    __slots__ = ("encoding", "sample_rate_hz", "channel_count")
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_COUNT_FIELD_NUMBER: _ClassVar[int]
    encoding: AudioEncoding
    sample_rate_hz: int
    channel_count: int
    def __init__(self, encoding: _Optional[_Union[AudioEncoding, str]] = ..., sample_rate_hz: _Optional[int] = ..., channel_count: _Optional[int] = ...) -> None: ...

class EndpointingConfig(_message.Message):
    __slots__ = ("disabled", "start_window", "start_threshold", "stop_window", "stop_threshold", "mode", "patience", "shortest_silence", "longest_silence")
    DISABLED_FIELD_NUMBER: _ClassVar[int]
    START_WINDOW_FIELD_NUMBER: _ClassVar[int]
    START_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    STOP_WINDOW_FIELD_NUMBER: _ClassVar[int]
    STOP_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_FIELD_NUMBER: _ClassVar[int]
    SHORTEST_SILENCE_FIELD_NUMBER: _ClassVar[int]
    LONGEST_SILENCE_FIELD_NUMBER: _ClassVar[int]
    disabled: bool
    start_window: _duration_pb2.Duration
    start_threshold: float
    stop_window: _duration_pb2.Duration
    stop_threshold: float
    mode: EndpointingMode
    patience: Patience
    shortest_silence: _duration_pb2.Duration
    longest_silence: _duration_pb2.Duration
    def __init__(self, disabled: _Optional[bool] = ..., start_window: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., start_threshold: _Optional[float] = ..., stop_window: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stop_threshold: _Optional[float] = ..., mode: _Optional[_Union[EndpointingMode, str]] = ..., patience: _Optional[_Union[Patience, str]] = ..., shortest_silence: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., longest_silence: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class PhraseHints(_message.Message):
    __slots__ = ("phrases", "boost")
    PHRASES_FIELD_NUMBER: _ClassVar[int]
    BOOST_FIELD_NUMBER: _ClassVar[int]
    phrases: _containers.RepeatedScalarFieldContainer[str]
    boost: float
    def __init__(self, phrases: _Optional[_Iterable[str]] = ..., boost: _Optional[float] = ...) -> None: ...

class ConverseResponse(_message.Message):
    __slots__ = ("started", "speech_began", "transcript", "speech_ended", "reply", "notice", "going_away", "speech_paused", "speech_resumed", "reply_audio", "interrupted", "tool_call", "reply_completed", "reply_held", "reply_resumed", "prompt")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    SPEECH_BEGAN_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    SPEECH_ENDED_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    GOING_AWAY_FIELD_NUMBER: _ClassVar[int]
    SPEECH_PAUSED_FIELD_NUMBER: _ClassVar[int]
    SPEECH_RESUMED_FIELD_NUMBER: _ClassVar[int]
    REPLY_AUDIO_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTED_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    REPLY_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    REPLY_HELD_FIELD_NUMBER: _ClassVar[int]
    REPLY_RESUMED_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    started: Started
    speech_began: SpeechBegan
    transcript: Transcript
    speech_ended: SpeechEnded
    reply: _reply_pb2.Reply
    notice: Notice
    going_away: GoingAway
    speech_paused: SpeechPaused
    speech_resumed: SpeechResumed
    reply_audio: ReplyAudio
    interrupted: Interrupted
    tool_call: ToolCall
    reply_completed: _reply_pb2.Reply
    reply_held: ReplyHeld
    reply_resumed: ReplyResumed
    prompt: Prompt
    def __init__(self, started: _Optional[_Union[Started, _Mapping]] = ..., speech_began: _Optional[_Union[SpeechBegan, _Mapping]] = ..., transcript: _Optional[_Union[Transcript, _Mapping]] = ..., speech_ended: _Optional[_Union[SpeechEnded, _Mapping]] = ..., reply: _Optional[_Union[_reply_pb2.Reply, _Mapping]] = ..., notice: _Optional[_Union[Notice, _Mapping]] = ..., going_away: _Optional[_Union[GoingAway, _Mapping]] = ..., speech_paused: _Optional[_Union[SpeechPaused, _Mapping]] = ..., speech_resumed: _Optional[_Union[SpeechResumed, _Mapping]] = ..., reply_audio: _Optional[_Union[ReplyAudio, _Mapping]] = ..., interrupted: _Optional[_Union[Interrupted, _Mapping]] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping]] = ..., reply_completed: _Optional[_Union[_reply_pb2.Reply, _Mapping]] = ..., reply_held: _Optional[_Union[ReplyHeld, _Mapping]] = ..., reply_resumed: _Optional[_Union[ReplyResumed, _Mapping]] = ..., prompt: _Optional[_Union[Prompt, _Mapping]] = ...) -> None: ...

class Prompt(_message.Message):
    __slots__ = ("reply",)
    REPLY_FIELD_NUMBER: _ClassVar[int]
    reply: _reply_pb2.Reply
    def __init__(self, reply: _Optional[_Union[_reply_pb2.Reply, _Mapping]] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("conversation_id", "greeting")
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    GREETING_FIELD_NUMBER: _ClassVar[int]
    conversation_id: str
    greeting: str
    def __init__(self, conversation_id: _Optional[str] = ..., greeting: _Optional[str] = ...) -> None: ...

class SpeechBegan(_message.Message):
    __slots__ = ("turn", "start")
    TURN_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    turn: int
    start: _duration_pb2.Duration
    def __init__(self, turn: _Optional[int] = ..., start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Transcript(_message.Message):
    __slots__ = ("turn", "text", "is_final", "start", "end", "alternatives", "confidence", "request_id", "speakers", "language_code")
    TURN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_FINAL_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SPEAKERS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_CODE_FIELD_NUMBER: _ClassVar[int]
    turn: int
    text: str
    is_final: bool
    start: _duration_pb2.Duration
    end: _duration_pb2.Duration
    alternatives: _containers.RepeatedCompositeFieldContainer[Alternative]
    confidence: float
    request_id: str
    speakers: _containers.RepeatedCompositeFieldContainer[SpeakerSpan]
    language_code: str
    def __init__(self, turn: _Optional[int] = ..., text: _Optional[str] = ..., is_final: _Optional[bool] = ..., start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., end: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., alternatives: _Optional[_Iterable[_Union[Alternative, _Mapping]]] = ..., confidence: _Optional[float] = ..., request_id: _Optional[str] = ..., speakers: _Optional[_Iterable[_Union[SpeakerSpan, _Mapping]]] = ..., language_code: _Optional[str] = ...) -> None: ...

class SpeakerSpan(_message.Message):
    __slots__ = ("speaker", "start", "end")
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    speaker: _reply_pb2.Speaker
    start: _duration_pb2.Duration
    end: _duration_pb2.Duration
    def __init__(self, speaker: _Optional[_Union[_reply_pb2.Speaker, _Mapping]] = ..., start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., end: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Alternative(_message.Message):
    __slots__ = ("text", "confidence")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    text: str
    confidence: float
    def __init__(self, text: _Optional[str] = ..., confidence: _Optional[float] = ...) -> None: ...

class SpeechEnded(_message.Message):
    __slots__ = ("turn", "end", "reason", "request_id", "silence")
    TURN_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SILENCE_FIELD_NUMBER: _ClassVar[int]
    turn: int
    end: _duration_pb2.Duration
    reason: EndReason
    request_id: str
    silence: _duration_pb2.Duration
    def __init__(self, turn: _Optional[int] = ..., end: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., reason: _Optional[_Union[EndReason, str]] = ..., request_id: _Optional[str] = ..., silence: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class SpeechPaused(_message.Message):
    __slots__ = ("turn", "text", "probability", "start", "end", "silence")
    TURN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    SILENCE_FIELD_NUMBER: _ClassVar[int]
    turn: int
    text: str
    probability: float
    start: _duration_pb2.Duration
    end: _duration_pb2.Duration
    silence: _duration_pb2.Duration
    def __init__(self, turn: _Optional[int] = ..., text: _Optional[str] = ..., probability: _Optional[float] = ..., start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., end: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., silence: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class SpeechResumed(_message.Message):
    __slots__ = ("turn", "start")
    TURN_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    turn: int
    start: _duration_pb2.Duration
    def __init__(self, turn: _Optional[int] = ..., start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("code", "message", "turn", "request_id")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    code: NoticeCode
    message: str
    turn: int
    request_id: str
    def __init__(self, code: _Optional[_Union[NoticeCode, str]] = ..., message: _Optional[str] = ..., turn: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class GoingAway(_message.Message):
    __slots__ = ("reason", "grace")
    REASON_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    reason: GoingAwayReason
    grace: _duration_pb2.Duration
    def __init__(self, reason: _Optional[_Union[GoingAwayReason, str]] = ..., grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("text", "language_code", "documents", "reply_budget", "variants", "max_intents", "time_zone", "current_time", "knowledge", "agent", "session")
    class VariantsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_CODE_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    REPLY_BUDGET_FIELD_NUMBER: _ClassVar[int]
    VARIANTS_FIELD_NUMBER: _ClassVar[int]
    MAX_INTENTS_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    CURRENT_TIME_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    text: str
    language_code: str
    documents: _containers.RepeatedCompositeFieldContainer[_reply_pb2.Document]
    reply_budget: _duration_pb2.Duration
    variants: _containers.ScalarMap[str, str]
    max_intents: int
    time_zone: str
    current_time: _timestamp_pb2.Timestamp
    knowledge: _containers.RepeatedScalarFieldContainer[str]
    agent: str
    session: SessionConfig
    def __init__(self, text: _Optional[str] = ..., language_code: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[_reply_pb2.Document, _Mapping]]] = ..., reply_budget: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., variants: _Optional[_Mapping[str, str]] = ..., max_intents: _Optional[int] = ..., time_zone: _Optional[str] = ..., current_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., knowledge: _Optional[_Iterable[str]] = ..., agent: _Optional[str] = ..., session: _Optional[_Union[SessionConfig, _Mapping]] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("reply", "followed")
    REPLY_FIELD_NUMBER: _ClassVar[int]
    FOLLOWED_FIELD_NUMBER: _ClassVar[int]
    reply: _reply_pb2.Reply
    followed: _containers.RepeatedCompositeFieldContainer[_reply_pb2.Reply]
    def __init__(self, reply: _Optional[_Union[_reply_pb2.Reply, _Mapping]] = ..., followed: _Optional[_Iterable[_Union[_reply_pb2.Reply, _Mapping]]] = ...) -> None: ...

class SayRequest(_message.Message):
    __slots__ = ("text", "ssml", "voice", "language_code", "encoding", "sample_rate_hz", "speed", "seed", "lexicon")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SSML_FIELD_NUMBER: _ClassVar[int]
    VOICE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_CODE_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    LEXICON_FIELD_NUMBER: _ClassVar[int]
    text: str
    ssml: str
    voice: str
    language_code: str
    encoding: AudioEncoding
    sample_rate_hz: int
    speed: float
    seed: int
    lexicon: _containers.RepeatedCompositeFieldContainer[LexiconEntry]
    def __init__(self, text: _Optional[str] = ..., ssml: _Optional[str] = ..., voice: _Optional[str] = ..., language_code: _Optional[str] = ..., encoding: _Optional[_Union[AudioEncoding, str]] = ..., sample_rate_hz: _Optional[int] = ..., speed: _Optional[float] = ..., seed: _Optional[int] = ..., lexicon: _Optional[_Iterable[_Union[LexiconEntry, _Mapping]]] = ...) -> None: ...

class LexiconEntry(_message.Message):
    __slots__ = ("word", "phonemes", "alias")
    WORD_FIELD_NUMBER: _ClassVar[int]
    PHONEMES_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    word: str
    phonemes: str
    alias: str
    def __init__(self, word: _Optional[str] = ..., phonemes: _Optional[str] = ..., alias: _Optional[str] = ...) -> None: ...

class SayResponse(_message.Message):
    __slots__ = ("audio", "sentences")
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    audio: bytes
    sentences: _containers.RepeatedCompositeFieldContainer[SentenceMark]
    def __init__(self, audio: _Optional[bytes] = ..., sentences: _Optional[_Iterable[_Union[SentenceMark, _Mapping]]] = ...) -> None: ...

class SentenceMark(_message.Message):
    __slots__ = ("text", "start")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    text: str
    start: _duration_pb2.Duration
    def __init__(self, text: _Optional[str] = ..., start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ReplyAudioConfig(_message.Message):
    __slots__ = ("encoding", "sample_rate_hz", "voice", "speed", "seed", "lexicon", "lead")
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    VOICE_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    LEXICON_FIELD_NUMBER: _ClassVar[int]
    LEAD_FIELD_NUMBER: _ClassVar[int]
    encoding: AudioEncoding
    sample_rate_hz: int
    voice: str
    speed: float
    seed: int
    lexicon: _containers.RepeatedCompositeFieldContainer[LexiconEntry]
    lead: _duration_pb2.Duration
    def __init__(self, encoding: _Optional[_Union[AudioEncoding, str]] = ..., sample_rate_hz: _Optional[int] = ..., voice: _Optional[str] = ..., speed: _Optional[float] = ..., seed: _Optional[int] = ..., lexicon: _Optional[_Iterable[_Union[LexiconEntry, _Mapping]]] = ..., lead: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class InterruptionConfig(_message.Message):
    __slots__ = ("disabled", "shortest_speech", "ignore_backchannels", "backchannels")
    DISABLED_FIELD_NUMBER: _ClassVar[int]
    SHORTEST_SPEECH_FIELD_NUMBER: _ClassVar[int]
    IGNORE_BACKCHANNELS_FIELD_NUMBER: _ClassVar[int]
    BACKCHANNELS_FIELD_NUMBER: _ClassVar[int]
    disabled: bool
    shortest_speech: _duration_pb2.Duration
    ignore_backchannels: bool
    backchannels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, disabled: _Optional[bool] = ..., shortest_speech: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., ignore_backchannels: _Optional[bool] = ..., backchannels: _Optional[_Iterable[str]] = ...) -> None: ...

class Playback(_message.Message):
    __slots__ = ("turn", "position", "finished")
    TURN_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    turn: int
    position: _duration_pb2.Duration
    finished: bool
    def __init__(self, turn: _Optional[int] = ..., position: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., finished: _Optional[bool] = ...) -> None: ...

class CancelReply(_message.Message):
    __slots__ = ("turn",)
    TURN_FIELD_NUMBER: _ClassVar[int]
    turn: int
    def __init__(self, turn: _Optional[int] = ...) -> None: ...

class ReplyAudio(_message.Message):
    __slots__ = ("turn", "audio", "start", "last")
    TURN_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    turn: int
    audio: bytes
    start: _duration_pb2.Duration
    last: bool
    def __init__(self, turn: _Optional[int] = ..., audio: _Optional[bytes] = ..., start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., last: _Optional[bool] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "intent", "arguments", "deadline", "parameters")
    class ArgumentsEntry(_message.Message):
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
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    intent: str
    arguments: _containers.ScalarMap[str, str]
    deadline: _duration_pb2.Duration
    parameters: _containers.ScalarMap[str, str]
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., intent: _Optional[str] = ..., arguments: _Optional[_Mapping[str, str]] = ..., deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("id", "slots", "say", "failed", "parameters")
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
    ID_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SAY_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    id: str
    slots: _containers.ScalarMap[str, str]
    say: str
    failed: bool
    parameters: _containers.ScalarMap[str, str]
    def __init__(self, id: _Optional[str] = ..., slots: _Optional[_Mapping[str, str]] = ..., say: _Optional[str] = ..., failed: _Optional[bool] = ..., parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ReplyHeld(_message.Message):
    __slots__ = ("turn", "position")
    TURN_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    turn: int
    position: _duration_pb2.Duration
    def __init__(self, turn: _Optional[int] = ..., position: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ReplyResumed(_message.Message):
    __slots__ = ("turn", "position")
    TURN_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    turn: int
    position: _duration_pb2.Duration
    def __init__(self, turn: _Optional[int] = ..., position: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Interrupted(_message.Message):
    __slots__ = ("turn", "heard", "heard_text", "reason")
    TURN_FIELD_NUMBER: _ClassVar[int]
    HEARD_FIELD_NUMBER: _ClassVar[int]
    HEARD_TEXT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    turn: int
    heard: _duration_pb2.Duration
    heard_text: str
    reason: InterruptionReason
    def __init__(self, turn: _Optional[int] = ..., heard: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., heard_text: _Optional[str] = ..., reason: _Optional[_Union[InterruptionReason, str]] = ...) -> None: ...
