"""Names that OpenAI's clients send: models, voices and languages.

Clients name OpenAI's models, some without being asked. Whoever wants one of its recognizers or voices is served by
ours; a name of another kind is a mistake that must not go unnoticed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.models.contracts import ASR, TTS
from pipelines.models.synthesis_port import DEFAULT_VOICE
from pipelines.speech.synthesis import VOICES

if TYPE_CHECKING:
    from pipelines.models.contracts import EngineRegistry

CONVERSATION_MODEL = "vivavoce"
"""Listens, understands and answers."""
LANGUAGE = "en"
"""The one language that is served."""

_RECOGNIZERS = re.compile(r"whisper|transcribe|parakeet|conformer|canary|nova|moonshine", re.IGNORECASE)
_SYNTHESIZERS = re.compile(r"\btts\b|kokoro|magpie", re.IGNORECASE)
_SPEAKERS = re.compile(r"realtime|audio|^gpt-", re.IGNORECASE)
_VOICES = frozenset(
    ("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse")
)
"""OpenAI's voices, for all of which ours stands."""
_MAX_SHOWN = 40


def recognizer_of(name: str, engines: EngineRegistry, field: str = "model") -> dict[str, str]:
    """Return the recognizer variant of a name; empty for the default.

    Raises:
        InvalidInputError: it means none.
    """
    if "diarize" in name.lower():
        message = "speakers are not told apart: choose another model"
        raise InvalidInputError(field, "UNKNOWN_MODEL", message)
    variants = engines.variants(ASR)
    if name in variants:
        return {ASR: name}
    if name in {"", CONVERSATION_MODEL, ASR} or _RECOGNIZERS.search(name):
        return {}
    raise unknown_model(name, (ASR, *variants), field)


def check_synthesizer(name: str, field: str = "model") -> None:
    """Check the name of a model that speaks.

    Raises:
        InvalidInputError: it is none.
    """
    if name not in {"", CONVERSATION_MODEL, TTS} and not _SYNTHESIZERS.search(name):
        raise unknown_model(name, (TTS,), field)


def check_conversation_model(name: str, field: str = "model") -> None:
    """Check the name of a model that holds conversations.

    Raises:
        InvalidInputError: it is none.
    """
    if name not in {"", CONVERSATION_MODEL, ASR} and not _SPEAKERS.search(name) and not _RECOGNIZERS.search(name):
        raise unknown_model(name, (CONVERSATION_MODEL,), field)


def voice_of(name: str, field: str = "voice") -> str:
    """Return the voice that a name means: ours, or the one that stands for OpenAI's.

    Raises:
        InvalidInputError: there is no such voice.
    """
    if name.lower() in {"", *_VOICES}:
        return DEFAULT_VOICE
    if name in VOICES:
        return name
    message = f"there is no voice {name[:_MAX_SHOWN]!r}: choose {' or '.join(VOICES)}"
    raise InvalidInputError(field, "UNKNOWN_VOICE", message)


def check_language(language: str, field: str = "language") -> None:
    """Check the language of a text to be spoken; none at all will do.

    Raises:
        InvalidInputError: it is not served.
    """
    if language and re.split(r"[-_]", language.lower())[0] not in {LANGUAGE, "english", "auto", "multi"}:
        message = f"the language {language[:_MAX_SHOWN]!r} is not served: choose {LANGUAGE}"
        raise InvalidInputError(field, "UNSUPPORTED_LANGUAGE", message)


def unknown_model(name: str, known: tuple[str, ...], field: str) -> InvalidInputError:
    """Return the error for a model that is not served."""
    return InvalidInputError(
        field, "UNKNOWN_MODEL", f"there is no model {name[:_MAX_SHOWN]!r} for this: choose {' or '.join(known)}"
    )
