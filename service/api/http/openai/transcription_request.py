"""Request of ``/v1/audio/transcriptions``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.recognition import NO_OPTIONS, RecognitionOptions
from pipelines.errors import InvalidInputError
from pipelines.models.contracts import ASR
from service.api.http.openai.hints import to_hints
from service.api.http.openai.names import diarizes, recognizer_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.speakers.diarization import Diarization
    from service.sessions.host import SessionHost

DIARIZED = "diarized_json"
FORMATS = ("json", "text", "srt", "vtt", "verbose_json", DIARIZED)
GRANULARITIES = ("word", "segment")
RECOGNITION_FIELDS = ("prompt", "keywords", "model", "timestamp_granularities", "language", "languages")
"""Fields by which the recording is recognized; the others concern what is written."""

_TRUE = frozenset(("true", "1", "yes", "on"))
_FALSE = frozenset(("", "false", "0", "no", "off"))
_TIMED = frozenset(("srt", "vtt"))


@dataclass(frozen=True, slots=True)
class TranscriptionRequest:
    """Fields of a request.

    Attributes:
        response_format: one of :data:`FORMATS`.
        granularities: those of ``verbose_json``.
        stream: whether the text is told as it is recognized.
        recognition: what is asked of the recognizer.
        variants: the variant of recognition, by role.
        diarization: how speakers are told apart; None: they are not.
    """

    response_format: str = "json"
    granularities: frozenset[str] = frozenset(("segment",))
    stream: bool = False
    recognition: RecognitionOptions = NO_OPTIONS
    variants: Mapping[str, str] = field(default_factory=dict)
    diarization: Diarization | None = None


def to_request(
    fields: Mapping[str, Sequence[str]], host: SessionHost, *, translates: bool = False
) -> TranscriptionRequest:
    """Read the fields of a form.

    Args:
        fields: the values of each field.
        host: of whose recognizers callers choose.
        translates: whether a translation into English is wanted.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    last = {name: values[-1] for name, values in fields.items() if values}
    variants: Mapping[str, str] = recognizer_of(last.get("model", ""), host.engines)
    if translates:
        variants = _translating(variants, host)
    languages = (last.get("language", ""), *fields.get("languages", ()))
    response_format = last.get("response_format", "") or "json"
    if response_format not in FORMATS:
        message = f"the format {response_format[:40]!r} is not written: choose one of {', '.join(FORMATS)}"
        raise InvalidInputError("response_format", "UNKNOWN_FORMAT", message)
    if "known_speaker_names" in fields or "known_speaker_references" in fields:
        message = "voices are told by name once they are enrolled at the server: leave the known speakers out"
        raise InvalidInputError("known_speaker_names", "NO_KNOWN_SPEAKERS", message)
    granularities = _granularities(fields.get("timestamp_granularities", ()), response_format)
    asks = response_format == DIARIZED or diarizes(last.get("model", ""))
    asking_field = "response_format" if response_format == DIARIZED else "model"
    return TranscriptionRequest(
        response_format,
        granularities,
        _flag(last.get("stream", ""), "stream"),
        RecognitionOptions(
            hints=to_hints(last.get("prompt", ""), fields.get("keywords", ()), "prompt", "keywords"),
            word_times=asks or response_format in _TIMED or "word" in granularities,
            language=host.language_of(languages, variants, "language"),
            translate=translates,
        ),
        variants,
        host.speakers.diarization(0, asking_field, asking_field) if asks else None,
    )


def _translating(variants: Mapping[str, str], host: SessionHost) -> Mapping[str, str]:
    """Return the chosen recognizer, or, where none is chosen, one that translates.

    Raises:
        InvalidInputError: it does not translate, or none does.
    """
    if host.languages(variants).translates:
        return variants
    able = [variant for variant in host.engines.variants(ASR) if host.languages({ASR: variant}).translates]
    if able and not variants:
        return {ASR: able[0]}
    cure = f"choose {' or '.join(able)}" if able else "serve one: vivavoce import whisper, and serve --variant NAME=DIR"
    raise InvalidInputError("model", "NO_TRANSLATION", f"this recognizer does not translate: {cure}")


def _granularities(values: Sequence[str], response_format: str) -> frozenset[str]:
    chosen = frozenset(part.strip() for value in values for part in value.split(",") if part.strip())
    for granularity in chosen:
        if granularity not in GRANULARITIES:
            message = f"{granularity[:40]!r} is no granularity: choose word, segment or both"
            raise InvalidInputError("timestamp_granularities", "UNKNOWN_GRANULARITY", message)
    if chosen and response_format != "verbose_json":
        # OpenAI's own service takes them with other formats, too, and tells none.
        return frozenset(("segment",))
    return chosen or frozenset(("segment",))


def _flag(text: str, field: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise InvalidInputError(field, "BAD_FLAG", f"{text[:40]!r} is neither true nor false")
