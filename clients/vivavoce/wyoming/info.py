"""Self-description of the server."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, TypedDict

from wyoming.info import (
    AsrModel,
    AsrProgram,
    Attribution,
    HandleModel,
    HandleProgram,
    Info,
    IntentModel,
    IntentProgram,
    TtsProgram,
    TtsVoice,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "vivavoce"
LANGUAGE = "en"


class _Common(TypedDict):
    """Fields that Wyoming requires of every program and model."""

    name: str
    attribution: Attribution
    installed: bool
    version: str


def describe(languages: Sequence[str]) -> Info:
    """List the programs for speech, intents and answers, each with its model.

    Speech is transcribed up to `audio-stop`, so that the end of a command is for the client to find. Answers are texts:
    no device is switched.
    """
    common = _Common(
        name=NAME, attribution=Attribution(name="Vivavoce", url=""), installed=True, version=version("vivavoce")
    )
    english, spoken = [LANGUAGE], list(languages)
    asr = AsrProgram(
        **common,
        description="Streaming speech recognition",
        models=[AsrModel(**common, description="The recognizer that the service runs", languages=spoken)],
        supports_transcript_streaming=True,
        requires_external_vad=True,
    )
    intent = IntentProgram(
        **common,
        description="Intents with their slots",
        models=[IntentModel(**common, description="The intents that the service was trained on", languages=english)],
    )
    handle = HandleProgram(
        **common,
        description="Answers from your own documents",
        models=[HandleModel(**common, description="Extractive question answering", languages=english)],
        supports_handled_streaming=False,
        supports_home_control=False,
    )
    tts = TtsProgram(
        **common,
        description="Speech synthesis",
        voices=[TtsVoice(**common, description="The voice that the service speaks with", languages=spoken)],
        supports_synthesize_streaming=True,
    )
    return Info(asr=[asr], intent=[intent], handle=[handle], tts=[tts])


def check_program(name: object) -> bool:
    """Return whether `name` is one of our programs or models, or None."""
    return name is None or name == NAME


def check_language(tag: object, languages: Sequence[str]) -> bool:
    """Return whether `tag` is one of these languages, in any region, or None."""
    return tag is None or (isinstance(tag, str) and tag.lower().replace("_", "-").partition("-")[0] in languages)
