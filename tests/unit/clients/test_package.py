"""What the package promises to those who import it."""

from __future__ import annotations

import subprocess
import sys

import vivavoce
from vivavoce import _errors, _events
from vivavoce.v1 import conversation_pb2 as pb

EXPORTS = {
    "AccessDenied", "Alternative", "Answer", "AnswerSource", "AudioChunk", "AudioFormat", "Client", "Conversation",
    "AskOptions", "ConversationUpdate", "ConverseOptions", "EndpointingMode", "Patience", "SpeechPaused",
    "SpeechResumed", "DEFAULT_STOP_WINDOW_SECONDS",
    "DEFAULT_TARGET", "Document", "Encoding", "EndOfUtterance", "EndReason", "Endpointing", "Event", "GoingAway",
    "GoingAwayReason", "Incompatible", "Intent", "IntentCandidate",
    "Interrupted",
    "Interruption",
    "InterruptionReason",
    "InvalidRequest", "Latency", "MicrophoneUnavailable", "ModelAdmin",
    "ModelState", "ModelVersion", "NotAudio", "Notice", "NoticeCode",
    "Overloaded", "PhraseHints", "Reading", "Reconnected", "Recording", "Prompt",
        "Reply",
    "ReplyAudio", "ReplyHeld", "ReplyResumed",
    "ReplyStatus",
    "ReplyVoice", "ResponseOverdue", "ServerError",
    "ServerFailed", "ServerUnavailable", "Slot",
    "SpeakerUnavailable", "SpeechBegan", "SpeechEnded", "Stage", "StageLatency", "Started",
        "Tls",
    "Transcript", "TypedTurn", "Utterable", "UtteranceKind", "Value", "ValueKind",
    "VivavoceError", "__version__", "connect", "pace", "read_audio",
    "Pronunciation", "SPEECH_AUDIO", "SpeechChunk", "SpokenSentence", "sync",
    "Dialog", "DialogCause", "DialogEnd", "Fulfilment", "Session",
    "Tool", "ToolCall", "ToolResult", "Diarization", "Speaker", "SpeakerSpan",
}  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert set(vivavoce.__all__) == EXPORTS
    assert all(hasattr(vivavoce, name) for name in EXPORTS)


def test_every_error_is_drawn_in_the_tree() -> None:
    kinds = [value for value in vars(_errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(kinds) > 5
    for kind in kinds:
        assert issubclass(kind, vivavoce.VivavoceError)
        assert kind.__name__ in str(_errors.__doc__)
        assert kind.__name__ in EXPORTS


def test_every_value_of_the_protocol_has_its_member() -> None:
    pairs = (
        (_events.EndReason, pb.EndReason, "END_REASON_"),
        (_events.NoticeCode, pb.NoticeCode, "NOTICE_CODE_"),
        (_events.GoingAwayReason, pb.GoingAwayReason, "GOING_AWAY_REASON_"),
        (vivavoce.Encoding, pb.AudioEncoding, "AUDIO_ENCODING_"),
        (vivavoce.EndpointingMode, pb.EndpointingMode, "ENDPOINTING_MODE_"),
        (vivavoce.Patience, pb.Patience, "PATIENCE_"),
    )
    for members, wire, prefix in pairs:
        names = {name.removeprefix(prefix) for name in wire.keys()} - {"UNSPECIFIED"}  # noqa: SIM118 - no mapping
        assert names == set(members.__members__) - {"UNKNOWN"}


def test_the_stubs_can_be_imported_without_what_only_people_and_files_need() -> None:
    check = "import sys, vivavoce.v1; sys.exit(str({'click', 'rich', 'soundfile', 'sounddevice'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == "set()"
