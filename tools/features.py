"""Features over doors: what each door has it by, or why it lacks it. ``tools.reference`` writes it to docs/doors.md.

A name is one of the code: a field of a message, an option, a method, an event. `names` finds those that there are, and
a test compares. A gap is a reason.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vivavoce
import vivavoce.sync
from service.api.http.openai.realtime import client_events, settings
from service.api.http.openai.realtime.transport import Tracks
from service.api.http.openai.speech import SpeechRequest
from service.api.http.openai.transcription_request import RECOGNITION_FIELDS, TranscriptionRequest
from service.api.riva.proto import riva_asr_pb2, riva_nlp_pb2, riva_tts_pb2
from service.cli import serve
from service.telephone import call
from vivavoce.cli.wyoming import wyoming
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.wyoming import connection, replies, transcription

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import click

ROOT = Path(__file__).resolve().parents[1]


class Gap(enum.Enum):
    """Reason why a door lacks a feature."""

    ONE = "one request has one answer: there is no conversation"
    OPENAI = "OpenAI's protocol has no word for it"
    RIVA = "Riva's contract has no field for it"
    WYOMING = "Wyoming has no event for it"
    PLAYS = "Home Assistant ends turns and plays replies itself"
    LINE = "a telephone has sound and keys, and nobody reads"
    OPERATOR = "the operator of the service sets it, not the caller"
    SOUND = "an agent hears keys in the sound"
    FILES = "speakers are told apart in recordings there"
    STOPS = "clients stop at `speech_started`, and nothing has them go on"
    SERVER = "tools of the server's own, such as webhooks, run alike"
    OWN = "a caller can keep its own sound"
    ENDS = "a lost connection ends the conversation; the clients of ours go on"
    REPLY = "what an agent says is spoken in the conversation"


Cell = str | tuple[str, ...] | Gap


@dataclasses.dataclass(frozen=True)
class Feature:
    """One feature: names, or a gap, by door; those with a default are as their like where left out."""

    name: str
    contract: Cell
    sdk: Cell
    web: Cell
    realtime: Cell
    riva: Cell
    http: Cell
    wyoming: Cell
    phone: Cell
    converse: Cell | None = None
    sync: Cell | None = None
    webrtc: Cell | None = None

    def cells(self) -> dict[str, Cell]:
        """Return the cell of each door."""
        return {
            "gRPC": self.contract,
            "`WS /v1/converse`": self.converse or self.contract,
            "SDK": self.sdk,
            "SDK, sync": self.sync or self.sdk,
            "JavaScript": self.web,
            "`WS /v1/realtime`": self.realtime,
            "WebRTC": self.webrtc or self.realtime,
            "Riva": self.riva,
            "HTTP": self.http,
            "Wyoming": self.wyoming,
            "telephone": self.phone,
        }


_TURNS = tuple(f"ConverseResponse.{name}" for name in ("speech_began", "transcript", "speech_ended", "reply"))
_UNDERSTANDING = ("max_intents", "time_zone", "current_time")
_CHANGES = ("endpointing", "documents", "phrase_hints", "session", "knowledge", "variants", "second_opinion")

FEATURES = (
    Feature("spoken turns", ("ConverseRequest.config", "ConversationConfig.audio", "ConverseRequest.audio", *_TURNS),
            "audio", "sendAudio", "input_audio_buffer.append", "StreamingRecognizeRequest.audio_content", Gap.ONE,
            "AudioChunk", "Sound", webrtc="Tracks.heard"),
    Feature("typed turns", "ConverseRequest.text", "TypedTurn", "sendText", "conversation.item.create",
            "AnalyzeIntentRequest.query", "AskRequest.text", "Transcript", Gap.LINE),
    Feature("partial transcripts", "ConversationConfig.interim_results", "interim_results", "interimResults",
            "conversation.item.input_audio_transcription.delta", "StreamingRecognitionConfig.interim_results",
            "transcription.stream", "TranscriptChunk", Gap.LINE),
    Feature("rules for the end of a turn", "ConversationConfig.endpointing", "endpointing", "endpointing",
            "turn_detection.eagerness", "RecognitionConfig.endpointing_config", Gap.ONE, Gap.PLAYS, Gap.OPERATOR),
    Feature("early word of the end", ("ConverseResponse.speech_paused", "ConverseResponse.speech_resumed"),
            ("SpeechPaused", "SpeechResumed"), ("speechPaused", "speechResumed"), Gap.OPENAI, Gap.RIVA, Gap.ONE,
            Gap.PLAYS, Gap.LINE),
    Feature("end of a turn by the caller", "ConverseRequest.end_of_utterance", "EndOfUtterance", "endUtterance",
            "input_audio_buffer.commit", Gap.RIVA, Gap.ONE, "AudioStop", Gap.LINE),
    Feature("language", "ConversationConfig.language_code", "language", "languageCode", "transcription.language",
            "RecognitionConfig.language_code", "transcription.language", "--language", Gap.OPERATOR),
    Feature("phrase hints", ("ConversationConfig.phrase_hints", "ConversationConfig.ignore_engine_hints"),
            ("phrase_hints", "ignore_engine_hints"), ("phraseHints", "ignoreEngineHints"),
            ("vivavoce.keywords", "transcription.keywords"), "RecognitionConfig.speech_contexts",
            "transcription.keywords", Gap.WYOMING, Gap.OPERATOR),
    Feature("alternatives", "ConversationConfig.max_alternatives", "max_alternatives", "maxAlternatives", Gap.OPENAI,
            "RecognitionConfig.max_alternatives", Gap.OPENAI, Gap.WYOMING, Gap.LINE),
    Feature("speakers", "ConversationConfig.diarization", "diarization", "diarization", Gap.FILES,
            "RecognitionConfig.diarization_config", "transcription.diarization", Gap.WYOMING, Gap.OPERATOR),
    Feature("variants of engines", "ConversationConfig.variants", "variants", "variants", "transcription.model",
            "RecognitionConfig.model", "transcription.model", "--variant", Gap.OPERATOR),
    Feature("a second opinion", "ConversationConfig.second_opinion", "second_opinion", "secondOpinion", Gap.OPERATOR,
            Gap.OPERATOR, Gap.ONE, Gap.OPERATOR, Gap.OPERATOR),
    Feature("documents", "ConversationConfig.documents", "documents", "documents", "vivavoce.documents",
            "NaturalQueryRequest.context", "AskRequest.documents", "--context", Gap.OPERATOR),
    Feature("knowledge bases", "ConversationConfig.knowledge", "knowledge", "knowledge", "vivavoce.knowledge", Gap.RIVA,
            "AskRequest.knowledge", "--knowledge", "--call-knowledge"),
    Feature("intents, time and place", tuple(f"ConversationConfig.{name}" for name in _UNDERSTANDING), _UNDERSTANDING,
            ("maxIntents", "timeZone", "currentTime"), Gap.OPENAI, Gap.RIVA,
            tuple(f"AskRequest.{name}" for name in _UNDERSTANDING), Gap.WYOMING, Gap.OPERATOR),
    Feature("reply budget", "ConversationConfig.reply_budget", "reply_budget_seconds", "replyBudget", Gap.OPENAI,
            Gap.RIVA, "AskRequest.reply_budget", "--budget-ms", Gap.OPERATOR),
    Feature("late replies", "ConverseResponse.reply_completed", "Reply.completes", "completes", "complete()", Gap.RIVA,
            "AskResponse.followed", "handled()", "ReplyAudio"),
    Feature("agents", ("ConversationConfig.agent", "ConverseResponse.started"), "agent", "agent", "vivavoce.agent",
            Gap.RIVA, "AskRequest.agent", "--agent", "--call-agent"),
    Feature("prompts", ("ConversationConfig.prompts", "ConverseResponse.prompt"), "Prompt", "prompt", "Prompt",
            Gap.RIVA, "AskResponse.followed", "followed", "ReplyAudio"),
    Feature("sessions", "ConversationConfig.session", "session", "session", "vivavoce.session", Gap.RIVA,
            "AskRequest.session", "_session_of()", "Call.session_id"),
    Feature("tools of the caller", ("ConverseRequest.tool_result", "ConverseResponse.tool_call"),
            ("ToolCall", "send_tool_result()"), ("toolCall", "sendToolResult"),
            ("response.function_call_arguments.done", "tool_result_of()"), Gap.RIVA, Gap.ONE, Gap.SERVER, Gap.SERVER),
    Feature("keys", "ConverseRequest.dtmf", "press_keys()", "pressKeys", Gap.SOUND, Gap.RIVA, Gap.ONE, Gap.WYOMING,
            "Keys"),
    Feature("spoken replies", ("ConversationConfig.reply_audio", "ConverseResponse.reply_audio"),
            ("reply_audio", "ReplyAudio"), "replyAudio", "response.output_audio.delta", Gap.RIVA, Gap.ONE, "Synthesize",
            "ReplyAudio", webrtc="Tracks.spoken"),
    Feature("interruption",
            ("ConversationConfig.interruption", "ConverseResponse.interrupted", "ConverseRequest.cancel_reply"),
            ("interruption", "Interrupted", "cancel_reply()"), ("interruption", "interrupted", "cancelReply"),
            ("turn_detection.interrupt_response", "response.cancel"), Gap.RIVA, Gap.ONE, Gap.PLAYS, "Interrupted"),
    Feature("holds", ("ConverseResponse.reply_held", "ConverseResponse.reply_resumed"), ("ReplyHeld", "ReplyResumed"),
            ("replyHeld", "replyResumed"), Gap.STOPS, Gap.RIVA, Gap.ONE, Gap.PLAYS, ("ReplyHeld", "ReplyResumed"),
            webrtc="ChangePlayback"),
    Feature("reports of playback", "ConverseRequest.playback", "send_playback()", "playback",
            "conversation.item.truncate", Gap.RIVA, Gap.ONE, Gap.PLAYS, "_played()", webrtc="played()"),
    Feature("changes in mid-conversation",
            ("ConverseRequest.update", *(f"ConversationUpdate.{name}" for name in _CHANGES)), "ConversationUpdate",
            "ConversationUpdate", "session.update", Gap.RIVA, Gap.ONE, Gap.OPERATOR, Gap.OPERATOR),
    Feature("names of requests", "ConverseRequest.request_id", "Reply.request_id", "requestId", "event_id", Gap.RIVA,
            Gap.ONE, "_session_of()", Gap.LINE),
    Feature("notices", ("ConverseResponse.notice", "ConverseResponse.going_away"), ("Notice", "GoingAway"),
            ("notice", "goingAway"), "error", Gap.RIVA, Gap.ONE, "error_event()", Gap.LINE),
    Feature("lost connections", Gap.ENDS, "reconnect_seconds", "reconnectSeconds", Gap.ENDS, Gap.ENDS, Gap.ONE,
            Gap.ENDS, Gap.ENDS),
    Feature("speech from text", "SayRequest.text", "say()", Gap.REPLY, Gap.REPLY, "SynthesizeSpeechRequest.text",
            "speech.input", "Synthesize", Gap.REPLY, converse=Gap.REPLY),
    Feature("recordings of calls", Gap.OWN, Gap.OWN, Gap.OWN, Gap.OWN, Gap.OWN, Gap.OWN, Gap.OWN, "--record-calls"),
)  # fmt: skip


def names() -> dict[str, set[str]]:
    """Return what the code of each door has."""
    contract = set(_fields(pb))
    spoken = set(_of_client(vivavoce.Client, vivavoce.Conversation))
    realtime = {*_words(Path(inspect.getfile(settings)).parent.glob("*.py")), *_events()}
    for prefix, kind in (
        ("vivavoce", settings.Extension),
        ("turn_detection", settings.Detection),
        ("transcription", settings.Transcription),
    ):
        realtime |= {f"{prefix}.{name}" for name in kind.__struct_fields__}
    phone = {*_options(serve), *vars(call), *_words([Path(inspect.getfile(call))])}
    return {
        "gRPC": contract,
        "`WS /v1/converse`": contract,
        "SDK": spoken,
        "SDK, sync": set(_of_client(vivavoce.sync.Client, vivavoce.sync.Conversation)),
        "JavaScript": set(re.findall(r"\w+", (ROOT / "clients/web/vivavoce.d.ts").read_text(encoding="utf-8"))),
        "`WS /v1/realtime`": realtime,
        "WebRTC": realtime | {f"Tracks.{field.name}" for field in dataclasses.fields(Tracks)},
        "Riva": {*_fields(riva_asr_pb2), *_fields(riva_nlp_pb2), *_fields(riva_tts_pb2)},
        "HTTP": {
            *contract,
            *(f"speech.{name}" for name in SpeechRequest.__struct_fields__),
            *(f"transcription.{name}" for name in RECOGNITION_FIELDS),
            *(f"transcription.{field.name}" for field in dataclasses.fields(TranscriptionRequest)),
        },
        "Wyoming": {
            *_options(wyoming),
            *_words(Path(inspect.getfile(module)) for module in (connection, replies, transcription)),
            *vars(connection),
            *vars(transcription),
            *(f"{name}()" for name in vars(connection)),
        },
        "telephone": phone | {f"Call.{name}" for name in inspect.signature(call.Call).parameters},
    }


def table() -> list[str]:
    """Return the table, and the reasons for its gaps."""
    letters = {gap: chr(ord("a") + number) for number, gap in enumerate(Gap)}
    doors = list(FEATURES[0].cells())
    rows = [f"| feature | {' | '.join(doors)} |", "|---" * (len(doors) + 1) + "|"]
    for feature in FEATURES:
        cells = (letters[cell] if isinstance(cell, Gap) else "✓" for cell in feature.cells().values())
        rows.append(f"| {feature.name} | {' | '.join(cells)} |")
    return [*rows, "", "| | why not |", "|---|---|", *(f"| {letters[gap]} | {gap.value} |" for gap in Gap)]


def _fields(module: Any) -> Iterator[str]:  # noqa: ANN401 - generated
    for name, message in module.DESCRIPTOR.message_types_by_name.items():
        yield from (f"{name}.{field.name}" for field in message.fields)


def _of_client(client: type, conversation: type) -> Iterator[str]:
    """Yield the options of both methods, all methods, and the types of events with their fields."""
    for method in (client.converse, client.ask):  # type: ignore[attr-defined]  # of either client
        kind = re.search(r"Unpack\[(\w+)\]", str(inspect.signature(method).parameters["options"].annotation))
        assert kind is not None
        yield from getattr(vivavoce, kind[1]).__annotations__
    yield from (f"{name}()" for kind in (client, conversation) for name in dir(kind))
    for name in vivavoce.__all__:
        yield name
        kind_of_event = getattr(vivavoce, name)
        if dataclasses.is_dataclass(kind_of_event):
            yield from (f"{name}.{field.name}" for field in dataclasses.fields(kind_of_event))


def _events() -> Iterator[str]:
    yield from (str(event.__struct_config__.tag) for event in client_events.ClientEvent.__args__)
    yield from client_events.AppendAudio.__struct_fields__


def _options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from parameter.opts


def _words(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the functions, attributes, classes and texts in modules; an f-string is read with what may stand in it."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield f"{name}()"
                case ast.ClassDef(name=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                    yield name
                case ast.JoinedStr(values=[ast.FormattedValue(), ast.Constant(value=str(end))]):
                    yield from (f"{begin}{end}" for begin in _PREFIXES)


_PREFIXES = ("conversation.item.input_audio_transcription", "response.function_call_arguments")
"""Beginnings of names of events that the code puts together."""
