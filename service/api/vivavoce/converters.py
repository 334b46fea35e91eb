"""Between the messages of ``vivavoce.v1`` and the plain data of the pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import duration_pb2

from pipelines.audio.formats import MODEL_RATE_HZ, AudioFormat
from pipelines.data import messages
from pipelines.data.answers import Document
from pipelines.data.recognition import PhraseHint, RecognitionOptions
from pipelines.errors import InvalidInputError
from pipelines.models.phrase_hints import check_alternatives, read_hints
from pipelines.session.conversation import ConversationConfig
from pipelines.stages.answering import check_documents
from pipelines.turns.state import TurnSettings
from service.api.vivavoce.encodings import to_encoding
from service.api.vivavoce.endpointing import seconds, to_endpointing
from service.api.vivavoce.replies import to_duration, to_reply, to_speaker
from service.api.vivavoce.spoken_replies import (
    to_interrupted,
    to_interruption,
    to_reply_audio,
    to_reply_held,
    to_reply_resumed,
    to_reply_voice,
)
from service.api.vivavoce.tools import to_tool_call
from service.api.vivavoce.understood import to_understanding_options
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.speakers.diarization import Diarization
    from service.speakers import Speakers

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ConversationService"].full_name

LANGUAGE = "en-US"
"""The language of typed texts, and of what understands and answers."""

DEFAULT_BUDGET_SECONDS = 0.3
MAX_TEXT_CHARACTERS = 2_000
MAX_AUDIO_BYTES = 1 << 20

_REASONS = {
    messages.EndReason.SILENCE: pb.END_REASON_SILENCE,
    messages.EndReason.REQUESTED: pb.END_REASON_REQUESTED,
    messages.EndReason.HALF_CLOSE: pb.END_REASON_HALF_CLOSE,
}
_NOTICES = {
    messages.NoticeCode.STAGE_FAILED: pb.NOTICE_CODE_STAGE_FAILED,
    messages.NoticeCode.NO_SPEECH: pb.NOTICE_CODE_NO_SPEECH,
    messages.NoticeCode.AUDIO_DAMAGED: pb.NOTICE_CODE_AUDIO_DAMAGED,
    messages.NoticeCode.MODEL_RECOVERED: pb.NOTICE_CODE_MODEL_RECOVERED,
    messages.NoticeCode.TOOL_RESULT_IGNORED: pb.NOTICE_CODE_TOOL_RESULT_IGNORED,
}
_AWAY = {
    messages.AwayReason.SHUTDOWN: pb.GOING_AWAY_REASON_SHUTDOWN,
    messages.AwayReason.IDLE: pb.GOING_AWAY_REASON_IDLE,
    messages.AwayReason.AGE: pb.GOING_AWAY_REASON_AGE,
}


def to_config(config: pb.ConversationConfig, speakers: Speakers) -> ConversationConfig:
    """Read a conversation's config.

    Args:
        config: as it was sent.
        speakers: tells speakers apart.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    return ConversationConfig(
        audio_format=_to_audio_format(config.audio) if config.HasField("audio") else None,
        turns=TurnSettings(
            endpointing=to_endpointing(config.endpointing),
            interim_results=config.interim_results,
            budget_seconds=to_budget(config, "config.reply_budget"),
            interruption=to_interruption(config.interruption),
        ),
        documents=to_documents(config.documents),
        recognition=RecognitionOptions(
            hints=to_hints(config.phrase_hints, "config.phrase_hints"),
            alternatives=check_alternatives(config.max_alternatives, "config.max_alternatives"),
        ),
        engine_hints=not config.ignore_engine_hints,
        understanding=to_understanding_options(config, "config."),
        reply_voice=to_reply_voice(config),
        diarization=_to_diarization(config, speakers),
    )


def _to_diarization(config: pb.ConversationConfig, speakers: Speakers) -> Diarization | None:
    if not config.HasField("diarization"):
        return None
    field = "config.diarization"
    return speakers.diarization(config.diarization.max_speakers, f"{field}.max_speakers", field)


def to_hints(groups: Iterable[pb.PhraseHints], field: str) -> tuple[PhraseHint, ...]:
    """Read phrase hints; raise InvalidInputError where recognition cannot take them."""
    return read_hints(((group.phrases, group.boost if group.HasField("boost") else None) for group in groups), field)


def to_documents(documents: Iterable[reply_pb2.Document]) -> tuple[Document, ...]:
    """Read documents as they are; see ``check_documents`` for what is allowed."""
    return tuple(Document(document.id, document.text) for document in documents)


def to_ask_config(request: pb.AskRequest) -> ConversationConfig:
    """Read how a typed request is to be answered.

    Raises:
        InvalidInputError: the text, the language, the documents or another field cannot be served.
    """
    check_text(request.text)
    check_language(request.language_code, "language_code")
    documents = to_documents(request.documents)
    check_documents(documents, "documents")
    return ConversationConfig(
        turns=TurnSettings(budget_seconds=to_budget(request, "reply_budget")),
        documents=documents,
        understanding=to_understanding_options(request, ""),
    )


def check_text(text: str) -> str:
    """Return a typed text as it is.

    Raises:
        InvalidInputError: it is empty or too long.
    """
    if not text.strip():
        raise InvalidInputError("text", "EMPTY_TEXT", "the text is empty: send a question or a command")
    if len(text) > MAX_TEXT_CHARACTERS:
        message = f"the text has {len(text):,} characters: send at most {MAX_TEXT_CHARACTERS:,}"
        raise InvalidInputError("text", "TEXT_TOO_LONG", message)
    return text


def check_language(language: str, field: str) -> None:
    """Check a BCP 47 tag; none at all will do.

    Raises:
        InvalidInputError: the language is not served.
    """
    if language and language.lower().split("-")[0] != "en":
        message = f"the language {language!r} is not served: choose {LANGUAGE}"
        raise InvalidInputError(field, "UNSUPPORTED_LANGUAGE", message)


def check_audio(audio: bytes) -> bytes:
    """Return a piece of audio as it is.

    Raises:
        InvalidInputError: it is larger than a message may be.
    """
    if len(audio) > MAX_AUDIO_BYTES:
        message = f"an audio message has {len(audio):,} bytes: send at most {MAX_AUDIO_BYTES:,} at a time"
        raise InvalidInputError("audio", "AUDIO_TOO_LARGE", message)
    return audio


def to_budget(holder: pb.ConversationConfig | pb.AskRequest, field: str) -> float:
    """Read ``reply_budget`` in seconds.

    Raises:
        InvalidInputError: it is out of range.
    """
    if not holder.HasField("reply_budget"):
        return DEFAULT_BUDGET_SECONDS
    budget = seconds(holder.reply_budget)
    if not 0.02 <= budget <= 60:
        message = f"a reply budget of {budget:g} s is not served: choose 0.02 to 60 s"
        raise InvalidInputError(field, "BUDGET_OUT_OF_RANGE", message)
    return budget


def to_response(  # noqa: PLR0911, PLR0912 - one a message
    message: messages.Message, now_seconds: float, *, prompts: bool = False
) -> pb.ConverseResponse:
    """Write a message.

    Args:
        message: of a conversation.
        now_seconds: the conversation's clock, for latencies.
        prompts: whether the caller has asked for prompts; otherwise they are replies.
    """
    match message:
        case messages.SpeechBegan():
            began = pb.SpeechBegan(turn=message.turn, start=_offset(message.start))
            return pb.ConverseResponse(speech_began=began)
        case messages.Transcript():
            return pb.ConverseResponse(transcript=_transcript(message))
        case messages.SpeechPaused():
            return pb.ConverseResponse(speech_paused=_paused(message))
        case messages.SpeechResumed():
            resumed = pb.SpeechResumed(turn=message.turn, start=_offset(message.start))
            return pb.ConverseResponse(speech_resumed=resumed)
        case messages.SpeechEnded():
            return pb.ConverseResponse(speech_ended=_ended(message))
        case messages.Prompt() if prompts:
            return pb.ConverseResponse(prompt=pb.Prompt(reply=to_reply(message, now_seconds)))
        case messages.Reply():
            reply = to_reply(message, now_seconds)
            return pb.ConverseResponse(reply_completed=reply) if message.completes else pb.ConverseResponse(reply=reply)
        case messages.Notice():
            code, request_id = _NOTICES[message.code], message.request_id
            notice = pb.Notice(code=code, message=message.message, turn=message.turn, request_id=request_id)
            return pb.ConverseResponse(notice=notice)
        case messages.GoingAway():
            away = pb.GoingAway(reason=_AWAY[message.reason], grace=to_duration(message.grace_seconds))
            return pb.ConverseResponse(going_away=away)
        case messages.ReplyAudio():
            return to_reply_audio(message)
        case messages.ReplyHeld():
            return to_reply_held(message)
        case messages.ReplyResumed():
            return to_reply_resumed(message)
        case messages.Interrupted():
            return to_interrupted(message)
        case messages.ToolCall():
            return to_tool_call(message)


def _to_audio_format(audio: pb.AudioConfig) -> AudioFormat:
    return AudioFormat(to_encoding(audio.encoding, "config.audio.encoding"), audio.sample_rate_hz, audio.channel_count)


def _paused(paused: messages.SpeechPaused) -> pb.SpeechPaused:
    return pb.SpeechPaused(
        turn=paused.turn,
        text=paused.text,
        probability=paused.probability,
        start=_offset(paused.start),
        end=_offset(paused.end),
        silence=_offset(paused.silence),
    )


def _ended(ended: messages.SpeechEnded) -> pb.SpeechEnded:
    return pb.SpeechEnded(
        turn=ended.turn,
        end=_offset(ended.end),
        reason=_REASONS[ended.reason],
        request_id=ended.request_id,
        silence=_offset(ended.silence) if ended.silence else None,
    )


def _transcript(transcript: messages.Transcript) -> pb.Transcript:
    return pb.Transcript(
        turn=transcript.turn,
        text=transcript.text,
        is_final=transcript.is_final,
        start=_offset(transcript.start),
        end=_offset(transcript.end),
        alternatives=[pb.Alternative(text=one.text, confidence=one.confidence) for one in transcript.alternatives],
        confidence=transcript.confidence,
        request_id=transcript.request_id,
        language_code=transcript.language,
        speakers=[
            pb.SpeakerSpan(speaker=to_speaker(span.speaker), start=_offset(span.start), end=_offset(span.end))
            for span in transcript.speakers
        ],
    )


def _offset(sample: int) -> duration_pb2.Duration:
    """Return an audio position in exact nanoseconds."""
    duration = duration_pb2.Duration()
    duration.FromNanoseconds(sample * 1_000_000_000 // MODEL_RATE_HZ)
    return duration
