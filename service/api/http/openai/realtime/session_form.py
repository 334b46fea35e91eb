"""Session objects of clients, in today's form and the beta's."""

from __future__ import annotations

from typing import Any

from pipelines.errors import InvalidInputError
from pipelines.models.synthesis_port import DEFAULT_VOICE
from service.api.http.json_reading import check_beside
from service.api.http.openai.names import CONVERSATION_MODEL, LANGUAGE

Session = dict[str, Any]

DOCUMENTS = ("vivavoce", "documents")
"""Names that lead to the documents of a session."""
REALTIME, TRANSCRIPTION = "realtime", "transcription"

_BETA_FORMATS: dict[str, Session] = {
    "pcm16": {"type": "audio/pcm", "rate": 24_000},
    "g711_ulaw": {"type": "audio/pcmu"},
    "g711_alaw": {"type": "audio/pcma"},
    "none": {"type": "audio/any", "rate": 16_000},
}


def default_session(kind: str, identifier: str) -> Session:
    """Return a session as it begins.

    Args:
        kind: realtime or transcription.
        identifier: its id.
    """
    detection: Session = {"type": "semantic_vad", "eagerness": "auto"}
    audio: Session = {
        "input": {
            "format": {"type": "audio/pcm", "rate": 24_000},
            "transcription": {"model": "asr", "language": LANGUAGE},
            "noise_reduction": None,
            "turn_detection": detection,
        }
    }
    session: Session = {"type": kind, "object": f"realtime.{_of(kind)}session", "id": identifier, "audio": audio}
    if kind == TRANSCRIPTION:
        return {**session, "include": None}
    detection.update(create_response=True, interrupt_response=True)
    audio["output"] = {"format": {"type": "audio/pcm", "rate": 24_000}, "voice": DEFAULT_VOICE, "speed": 1.0}
    return {
        **session,
        "model": CONVERSATION_MODEL,
        "output_modalities": ["audio"],
        "instructions": "",
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "include": None,
    }


def merged(session: Session, changes: Session) -> Session:
    """Return a session with a client's changes; the rest is shared with the old one.

    Raises:
        InvalidInputError: the changes are of a form that no session has.
        MessageTooLargeError: the session would be too large.
    """
    check_beside(changes, *DOCUMENTS, field="session")
    normal = _normalized(changes)
    kind = normal.get("type")
    if kind is not None and kind != session["type"]:
        if kind not in (REALTIME, TRANSCRIPTION):
            message = "the type of the session is unknown: choose realtime or transcription"
            raise InvalidInputError("session.type", "INVALID_VALUE", message)
        session = default_session(kind, session["id"])
    found = _merged(session, normal, "session")
    check_beside(found, *DOCUMENTS, field="session")
    return found


def to_beta(session: Session) -> Session:
    """Return a session in the form of the beta."""
    sound, spoken = session["audio"]["input"], session["audio"].get("output")
    found: Session = {
        "id": session["id"],
        "object": session["object"],
        "input_audio_format": _beta_format(sound["format"]),
        "input_audio_transcription": sound["transcription"],
        "input_audio_noise_reduction": sound["noise_reduction"],
        "turn_detection": sound["turn_detection"],
        "include": session["include"],
    }
    if session["type"] == REALTIME and spoken is not None:
        found |= {
            "model": session["model"],
            "modalities": ["text", "audio"] if "audio" in session["output_modalities"] else ["text"],
            "instructions": session["instructions"],
            "voice": spoken["voice"],
            "speed": spoken["speed"],
            "output_audio_format": _beta_format(spoken["format"]),
            "tools": session["tools"],
            "tool_choice": session["tool_choice"],
            "temperature": session.get("temperature", 0.8),
            "max_response_output_tokens": session["max_output_tokens"],
        }
    return found


def _of(kind: str) -> str:
    return "transcription_" if kind == TRANSCRIPTION else ""


def _beta_format(audio: Session | None) -> str:
    names = {form["type"]: name for name, form in _BETA_FORMATS.items()}
    return names.get(str((audio or {}).get("type")), "pcm16")


def _normalized(changes: Session) -> Session:
    """Bring what is in the beta's form to today's."""
    found = {key: value for key, value in changes.items() if key not in _BETA_KEYS}
    parts: dict[str, Session] = {"input": {}, "output": {}}
    for key, (part, name) in _MOVED.items():
        if key in changes:
            parts[part][name] = as_format(changes[key], key) if name == "format" else changes[key]
    if "modalities" in changes:
        audible = isinstance(changes["modalities"], list) and "audio" in changes["modalities"]
        found["output_modalities"] = ["audio"] if audible else ["text"]
    if "max_response_output_tokens" in changes:
        found["max_output_tokens"] = changes["max_response_output_tokens"]
    if any(parts.values()):
        audio = found["audio"] if isinstance(found.get("audio"), dict) else {}
        moved = {name: {**(audio.get(name) or {}), **part} for name, part in parts.items() if part}
        found["audio"] = {**audio, **moved}
    return found


_MOVED = {
    "input_audio_format": ("input", "format"),
    "input_audio_transcription": ("input", "transcription"),
    "input_audio_noise_reduction": ("input", "noise_reduction"),
    "turn_detection": ("input", "turn_detection"),
    "output_audio_format": ("output", "format"),
    "voice": ("output", "voice"),
    "speed": ("output", "speed"),
}
_OURS = ("id", "object", "client_secret", "expires_at")
"""What the server alone says; clients send it back."""
_BETA_KEYS = frozenset((*_MOVED, *_OURS, "modalities", "max_response_output_tokens"))


def as_format(value: Any, key: str) -> Session:  # noqa: ANN401 - JSON
    """Return a format of audio, which the beta has as a name.

    Raises:
        InvalidInputError: it is none.
    """
    if isinstance(value, dict):
        return dict(value)
    if not isinstance(value, str) or value not in _BETA_FORMATS:
        known = ", ".join(_BETA_FORMATS)
        raise InvalidInputError(f"session.{key}", "INVALID_VALUE", f"the format is unknown: choose one of {known}")
    return dict(_BETA_FORMATS[value])


_REPLACED = frozenset(("turn_detection", "transcription", "format", "tools", "vivavoce"))
"""Objects that a client sends whole."""


def _merged(session: Session, changes: Session, path: str) -> Session:
    found = dict(session)
    for key, value in changes.items():
        old = found.get(key)
        if isinstance(value, dict) and isinstance(old, dict) and key not in _REPLACED:
            found[key] = _merged(old, value, f"{path}.{key}")
        elif key in {"audio", "input", "output"} and not isinstance(value, dict):
            raise InvalidInputError(f"{path}.{key}", "INVALID_VALUE", f"{key} is no object: send one")
        else:
            found[key] = value
    return found
