"""Vivavoce: speak, and be understood and answered.

    import asyncio

    import vivavoce


    async def main() -> None:
        recording = vivavoce.read_audio("question.flac")
        speech = vivavoce.pace(recording.chunks(), recording.sample_rate_hz)
        async with vivavoce.connect("localhost:50051") as client:
            async for event in client.converse(speech, audio=recording.format, documents=["The museum opens at nine."]):
                match event:
                    case vivavoce.Transcript(text=text, is_final=True):
                        print(text)
                    case vivavoce.Reply(answer=vivavoce.Answer(text=answer)):
                        print(answer)


    asyncio.run(main())

Programs without asyncio use `vivavoce.sync`. Errors are kinds of `VivavoceError`; their tree is drawn in
`vivavoce._errors`.
"""

from vivavoce import sync
from vivavoce._client import DEFAULT_TARGET, Client, connect
from vivavoce._config import (
    DEFAULT_STOP_WINDOW_SECONDS,
    AudioFormat,
    ConversationUpdate,
    Diarization,
    Document,
    Encoding,
    EndOfUtterance,
    Endpointing,
    EndpointingMode,
    Patience,
    PhraseHints,
    TypedTurn,
)
from vivavoce._conversation import Conversation
from vivavoce._dialog import Dialog, DialogCause, DialogEnd, Fulfilment, Session
from vivavoce._errors import (
    AccessDenied,
    Incompatible,
    InvalidRequest,
    MicrophoneUnavailable,
    NotAudio,
    Overloaded,
    ResponseOverdue,
    ServerError,
    ServerFailed,
    ServerUnavailable,
    SpeakerUnavailable,
    VivavoceError,
)
from vivavoce._events import (
    Alternative,
    EndReason,
    Event,
    GoingAway,
    GoingAwayReason,
    Notice,
    NoticeCode,
    Reconnected,
    SpeakerSpan,
    SpeechBegan,
    SpeechEnded,
    Started,
    Transcript,
)
from vivavoce._models import ModelAdmin, ModelState, ModelVersion
from vivavoce._options import AskOptions, ConverseOptions
from vivavoce._pauses import SpeechPaused, SpeechResumed
from vivavoce._recording import Recording, pace, read_audio
from vivavoce._reply import Answer, AnswerSource, Latency, Prompt, Reply, ReplyStatus, Speaker, Stage, StageLatency
from vivavoce._requests import AudioChunk, Utterable
from vivavoce._security import Tls
from vivavoce._speech import SpeechChunk, SpokenSentence
from vivavoce._speech_types import SPEECH_AUDIO, Pronunciation
from vivavoce._spoken import (
    Interrupted,
    Interruption,
    InterruptionReason,
    ReplyAudio,
    ReplyHeld,
    ReplyResumed,
    ReplyVoice,
)
from vivavoce._tools import Tool, ToolCall, ToolResult
from vivavoce._understood import Intent, IntentCandidate, Reading, Slot, UtteranceKind, Value, ValueKind
from vivavoce._version import __version__

__all__ = [
    "DEFAULT_STOP_WINDOW_SECONDS",
    "DEFAULT_TARGET",
    "SPEECH_AUDIO",
    "AccessDenied",
    "Alternative",
    "Answer",
    "AnswerSource",
    "AskOptions",
    "AudioChunk",
    "AudioFormat",
    "Client",
    "Conversation",
    "ConversationUpdate",
    "ConverseOptions",
    "Dialog",
    "DialogCause",
    "DialogEnd",
    "Diarization",
    "Document",
    "Encoding",
    "EndOfUtterance",
    "EndReason",
    "Endpointing",
    "EndpointingMode",
    "Event",
    "Fulfilment",
    "GoingAway",
    "GoingAwayReason",
    "Incompatible",
    "Intent",
    "IntentCandidate",
    "Interrupted",
    "Interruption",
    "InterruptionReason",
    "InvalidRequest",
    "Latency",
    "MicrophoneUnavailable",
    "ModelAdmin",
    "ModelState",
    "ModelVersion",
    "NotAudio",
    "Notice",
    "NoticeCode",
    "Overloaded",
    "Patience",
    "PhraseHints",
    "Prompt",
    "Pronunciation",
    "Reading",
    "Reconnected",
    "Recording",
    "Reply",
    "ReplyAudio",
    "ReplyHeld",
    "ReplyResumed",
    "ReplyStatus",
    "ReplyVoice",
    "ResponseOverdue",
    "ServerError",
    "ServerFailed",
    "ServerUnavailable",
    "Session",
    "Slot",
    "Speaker",
    "SpeakerSpan",
    "SpeakerUnavailable",
    "SpeechBegan",
    "SpeechChunk",
    "SpeechEnded",
    "SpeechPaused",
    "SpeechResumed",
    "SpokenSentence",
    "Stage",
    "StageLatency",
    "Started",
    "Tls",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "TypedTurn",
    "Utterable",
    "UtteranceKind",
    "Value",
    "ValueKind",
    "VivavoceError",
    "__version__",
    "connect",
    "pace",
    "read_audio",
    "sync",
]
