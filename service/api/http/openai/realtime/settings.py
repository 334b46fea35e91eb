"""Settings of a session, read from its form."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.answers import Document
from pipelines.data.recognition import RecognitionOptions
from pipelines.errors import InvalidInputError
from pipelines.session.config import ConversationConfig, ConversationUpdate
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.speech.script import check_speed
from pipelines.turns.interruption import InterruptionConfig
from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode, Patience
from service.api.http.openai.hints import to_hints
from service.api.http.openai.names import check_conversation_model, diarizes, recognizer_of, voice_of
from service.api.http.openai.realtime.session_form import TRANSCRIPTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.api.http.openai.realtime.session_form import Session
    from service.sessions.host import SessionHost

from typing import Annotated, Literal

DEFAULT_SILENCE_MS = 500
"""OpenAI's own, of ``server_vad``."""
MIN_IDLE_MS, MAX_IDLE_MS = 5_000, 30_000
TRACK_LEAD_SECONDS = 1.0
"""How far speech is made ahead of its playback on a track of ours: its queue is here."""
_G711_RATE_HZ = 8_000

_PATIENCES = {
    "low": Patience.PATIENT,
    "medium": Patience.NORMAL,
    "auto": Patience.NORMAL,
    "high": Patience.EAGER,
}
_ENCODINGS = {"audio/pcm": Encoding.LINEAR_PCM, "audio/pcmu": Encoding.MULAW, "audio/pcma": Encoding.ALAW}

_T = TypeVar("_T")


class _Format(Struct, frozen=True):
    type: Literal["audio/pcm", "audio/pcmu", "audio/pcma", "audio/any"]
    rate: int | None = None
    channels: int = 1


class Transcription(Struct, frozen=True):
    """Recognition; see OpenAI's ``transcription``."""

    model: str | None = None
    language: str | None = None
    languages: list[str] = []
    prompt: str | None = None
    keywords: list[str] = []


class Detection(Struct, frozen=True):
    """End-of-turn detection; see OpenAI's ``turn_detection``."""

    type: Literal["server_vad", "semantic_vad"]
    create_response: bool | None = None
    interrupt_response: bool | None = None
    eagerness: Literal["low", "medium", "high", "auto"] | None = None
    silence_duration_ms: int | None = None
    threshold: float | None = None
    prefix_padding_ms: int | None = None
    idle_timeout_ms: Annotated[int, Meta(ge=MIN_IDLE_MS, le=MAX_IDLE_MS)] | None = None


class AgentSession(Struct, frozen=True):
    """Dialog and session parameters of an agent; see ``vivavoce.v1``."""

    id: str = ""
    parameters: dict[str, str] = {}


class _Document(Struct, frozen=True):
    text: str
    id: str = ""


class Extension(Struct, frozen=True, forbid_unknown_fields=True):
    """Fields of ours, of ``session.vivavoce``."""

    documents: list[_Document] = []
    keywords: list[str] = []
    agent: str = ""
    session: AgentSession = AgentSession()
    knowledge: list[str] = []


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a session.

    Attributes:
        replies: whether turns are answered; otherwise they are only transcribed.
        speaks: whether replies are spoken.
        audio_format: format of the caller's audio.
        detection: how the end of a turn is detected; None: the caller tells it.
        transcribes: whether transcripts are told.
        config: how the conversation is held.
        agent: name of the agent that holds the dialog; "": every turn stands alone.
        dialog: which of its dialogs goes on.
    """

    replies: bool
    speaks: bool
    audio_format: AudioFormat
    detection: Detection | None
    transcribes: bool
    config: ConversationConfig = field(repr=False)
    agent: str = ""
    dialog: AgentSession = field(default_factory=AgentSession)

    def on_tracks(self, heard: AudioFormat, spoken: SpeechFormat) -> Settings:
        """Return the settings with a transport's own formats of audio."""
        config = self.config
        if config.reply_voice is not None:
            voice = dataclasses.replace(config.reply_voice, audio_format=spoken, lead_seconds=TRACK_LEAD_SECONDS)
            config = dataclasses.replace(config, reply_voice=voice)
        return dataclasses.replace(self, audio_format=heard, config=config)

    @property
    def responds(self) -> bool:
        """True if a response is made at the end of each turn."""
        return self.replies and self.detection is not None and self.detection.create_response is not False

    def update_from(self, before: Settings) -> ConversationUpdate | None:
        """Return the change from settings ``before``; None if it needs a new one.

        What holds for a whole conversation is in another one from now on, in which turns are counted anew.
        """
        mine, theirs = self.config, before.config
        changed = dataclasses.replace(
            theirs,
            turns=dataclasses.replace(theirs.turns, endpointing=mine.turns.endpointing),
            documents=mine.documents,
            knowledge=mine.knowledge,
            recognition=dataclasses.replace(theirs.recognition, hints=mine.recognition.hints),
        )
        old, new = theirs.turns.endpointing, mine.turns.endpointing
        if (self.agent, self.dialog) != (before.agent, before.dialog):
            return None
        if changed != mine or old.enabled != new.enabled or self.replies != before.replies:
            return None
        chosen = [one.name for one in dataclasses.fields(new) if one.init]
        names = [name for name in chosen if getattr(old, name) != getattr(new, name)]
        endpointing = {name: getattr(new, name) for name in names}
        hints = mine.recognition.hints
        return ConversationUpdate(
            endpointing,
            None if mine.documents == theirs.documents else mine.documents,
            None if hints == theirs.recognition.hints else hints,
            None if mine.knowledge == theirs.knowledge else mine.knowledge,
        )


def to_settings(session: Session, host: SessionHost) -> Settings:
    """Read a session.

    Raises:
        InvalidInputError: something cannot be honoured; the error names the field.
    """
    sound = session["audio"]["input"]
    is_transcription = session["type"] == TRANSCRIPTION
    transcription = _read(sound.get("transcription"), Transcription | None, "session.audio.input.transcription")
    detection = _read(sound.get("turn_detection"), Detection | None, "session.audio.input.turn_detection")
    extension = _read(session.get("vivavoce") or {}, Extension, "session.vivavoce")
    asked = transcription or Transcription()
    field_name = "session.audio.input.transcription"
    variants = recognizer_of(asked.model or "", host.engines, f"{field_name}.model")
    language = host.language_of((asked.language or "", *asked.languages), variants, f"{field_name}.language")
    if not is_transcription:
        check_conversation_model(str(session.get("model") or ""), "session.model")
    voice = None if is_transcription else _voice(session, host)
    keywords = [*asked.keywords, *extension.keywords]
    config = ConversationConfig(
        turns=TurnSettings(
            endpointing=_endpointing(detection),
            interim_results=transcription is not None,
            speculates=host.speculates,
            replies=not is_transcription,
            interruption=_interruption(detection),
        ),
        documents=tuple(
            Document(document.id or f"document {number}", document.text)
            for number, document in enumerate(extension.documents, start=1)
        ),
        knowledge=host.bases_of(extension.agent, extension.knowledge, "session.vivavoce.knowledge"),
        recognition=RecognitionOptions(
            hints=to_hints(asked.prompt or "", keywords, f"{field_name}.prompt", f"{field_name}.keywords"),
            language=language,
        ),
        engine_hints=not is_transcription,
        reply_voice=voice,
        variants=variants,
    )
    if diarizes(asked.model or ""):
        message = "speakers are told apart in recordings, not here: choose another model"
        raise InvalidInputError(f"{field_name}.model", "UNKNOWN_MODEL", message)
    if extension.agent and (is_transcription or extension.agent not in host.dialogs.agents):
        there = ", ".join(sorted(host.dialogs.agents))
        message = f"no agent {extension.agent[:64]!r} can hold this session: " + (
            f"choose {there}" if there else "leave it out"
        )
        raise InvalidInputError("session.vivavoce.agent", "UNKNOWN_AGENT", message)
    return Settings(
        not is_transcription,
        voice is not None,
        _audio_format(sound.get("format")),
        detection,
        transcription is not None,
        config,
        extension.agent,
        extension.session,
    )


def _voice(session: Mapping[str, Any], host: SessionHost) -> ReplyVoice | None:
    modalities = session.get("output_modalities")
    if modalities not in (["audio"], ["text"], ["text", "audio"], ["audio", "text"]):
        message = "output_modalities is neither audio nor text: choose one of them"
        raise InvalidInputError("session.output_modalities", "INVALID_VALUE", message)
    if "audio" not in modalities:
        return None
    spoken = session["audio"].get("output") or {}
    path = "session.audio.output"
    audio = _read(spoken.get("format") or {"type": "audio/pcm"}, _Format, f"{path}.format")
    if audio.type == "audio/any":
        message = "speech is not encoded so: choose audio/pcm, audio/pcmu or audio/pcma"
        raise InvalidInputError(f"{path}.format.type", "INVALID_VALUE", message)
    usual_rate = 24_000 if audio.type == "audio/pcm" else _G711_RATE_HZ
    rate_field = f"{path}.format.rate"
    audio_format = SpeechFormat(_ENCODINGS[audio.type], audio.rate or usual_rate, f"{path}.format.type", rate_field)
    name = spoken.get("voice") or ""
    name = name.get("id") if isinstance(name, dict) else name
    speed = _read(spoken.get("speed") or 0.0, float, f"{path}.speed")
    return ReplyVoice(audio_format, voice_of(str(name), host, f"{path}.voice"), check_speed(speed, f"{path}.speed"))


def _audio_format(value: object) -> AudioFormat:
    path = "session.audio.input.format"
    audio = _read(value or {"type": "audio/pcm"}, _Format, path)
    usual_rate = 24_000 if audio.type == "audio/pcm" else 16_000 if audio.type == "audio/any" else _G711_RATE_HZ
    try:
        return AudioFormat(_ENCODINGS.get(audio.type, Encoding.LINEAR_PCM), audio.rate or usual_rate, audio.channels)
    except InvalidInputError as error:
        name = "rate" if "rate" in error.field else "channels"
        raise InvalidInputError(f"{path}.{name}", error.reason, str(error)) from error


def _endpointing(detection: Detection | None) -> EndpointingConfig:
    if detection is None:
        return EndpointingConfig(enabled=False)
    if detection.type == "semantic_vad":
        patience = _PATIENCES[detection.eagerness or "auto"]
        return EndpointingConfig(mode=EndpointingMode.MODEL, patience=patience)
    silence_ms = DEFAULT_SILENCE_MS if detection.silence_duration_ms is None else detection.silence_duration_ms
    chosen: dict[str, Any] = {"stop_window_seconds": silence_ms / 1000}
    if detection.threshold is not None:
        begins = detection.threshold
        chosen |= {"speech_begins": begins, "speech_ends": min(begins, EndpointingConfig().speech_ends)}
    path = "session.audio.input.turn_detection"
    try:
        return EndpointingConfig(mode=EndpointingMode.SILENCE, **chosen)
    except InvalidInputError as error:
        name = "silence_duration_ms" if "stop_window" in error.field else "threshold"
        raise InvalidInputError(f"{path}.{name}", error.reason, str(error)) from error


def _interruption(detection: Detection | None) -> InterruptionConfig:
    enabled = detection is not None and detection.interrupt_response is not False
    return InterruptionConfig(enabled=enabled)


def _read(value: object, kind: type[_T] | Any, path: str) -> Any:  # noqa: ANN401 - what ``kind`` says
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$")
        name = f"{path}{place.rstrip('`')}"
        raise InvalidInputError(name, "INVALID_VALUE", f"{sentence.replace('`', '')}, in {name}") from error
