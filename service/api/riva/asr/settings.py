"""Reader of Riva's ``RecognitionConfig``: fields are honoured or refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.audio.decoding import channel_decoder
from pipelines.audio.formats import MAX_CHANNELS, Encoding
from pipelines.data.recognition import RecognitionOptions
from pipelines.errors import InvalidInputError
from pipelines.models.languages import AUTO
from pipelines.models.phrase_hints import MAX_ALTERNATIVES, read_hints
from pipelines.text.style import TranscriptStyle
from pipelines.turns.state import TurnSettings
from service.api.riva.asr.endpointing import to_endpointing
from service.api.riva.asr.options import to_options
from service.api.riva.asr.recognizers import recognizer_of
from service.api.riva.fields import renamed
from service.api.riva.proto import riva_audio_pb2
from service.api.vivavoce.converters import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.audio.decoding import ChannelDecoder
    from pipelines.speakers.diarization import Diarization
    from service.api.riva.proto import riva_asr_pb2 as pb
    from service.sessions.host import SessionHost
    from service.speakers import Speakers

_ENCODINGS = {
    riva_audio_pb2.ENCODING_UNSPECIFIED: None,
    riva_audio_pb2.LINEAR_PCM: Encoding.LINEAR_PCM,
    riva_audio_pb2.FLAC: Encoding.FLAC,
    riva_audio_pb2.MULAW: Encoding.MULAW,
    riva_audio_pb2.OGGOPUS: Encoding.OGGOPUS,
    riva_audio_pb2.ALAW: Encoding.ALAW,
}


@dataclass(frozen=True, slots=True)
class RecognitionSettings:
    """Settings of recognition.

    Attributes:
        decoder: takes the audio apart.
        channels: how many channels are recognized, from the first on.
        recognition: what is asked of the recognizer beside the words.
        turns: when utterances begin and end, and what is told of them.
        style: how transcripts are written.
        language: as the caller named it; "" where the recognizer finds it out.
        variants: the chosen recognizer, by role.
        vad_probabilities: whether results of a stream tell the probabilities of speech.
        diarization: how speakers are told apart; None: they are not.
    """

    decoder: ChannelDecoder
    channels: int
    recognition: RecognitionOptions
    turns: TurnSettings
    style: TranscriptStyle
    language: str
    variants: Mapping[str, str]
    vad_probabilities: bool
    diarization: Diarization | None = None


def to_settings(
    config: pb.RecognitionConfig, field: str, host: SessionHost, *, interim_results: bool
) -> RecognitionSettings:
    """Read how audio is to be recognized; ``field`` is the path of ``config``.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    variants = recognizer_of(config.model, host.engines, f"{field}.model")
    languages = host.languages(variants)
    options = to_options(config.custom_configuration, f"{field}.custom_configuration", detects=AUTO in languages.codes)
    wanted = AUTO if options.detects_language else config.language_code
    language = host.language(wanted, variants, f"{field}.language_code")
    is_named = language != AUTO if language else bool(languages.default)
    usual = LANGUAGE if languages.default in {"", "en"} else languages.default
    endpointing = to_endpointing(config.endpointing_config, options, f"{field}.endpointing_config")
    channels = _channels(config, field)
    return RecognitionSettings(
        decoder=_decoder(config, field, channels),
        channels=channels,
        recognition=replace(_recognition(config, field), language=language),
        turns=TurnSettings(endpointing=endpointing, interim_results=interim_results, replies=False),
        style=TranscriptStyle(
            punctuation=config.enable_automatic_punctuation,
            figures=not config.verbatim_transcripts,
            figures_in_partials=options.figures_in_partials,
            mask_profanity=config.profanity_filter,
        ),
        language=(config.language_code or usual) if is_named else "",
        variants=variants,
        vad_probabilities=options.vad_probabilities,
        diarization=_diarization(config.diarization_config, f"{field}.diarization_config", host.speakers),
    )


def _recognition(config: pb.RecognitionConfig, field: str) -> RecognitionOptions:
    """Read what is asked of the recognizer beside the words."""
    if config.max_alternatives < 0:
        message = f"{config.max_alternatives} transcripts cannot be given: ask for 1 or more"
        raise InvalidInputError(f"{field}.max_alternatives", "ALTERNATIVES_OUT_OF_RANGE", message)
    # A boost of 0 is one that was not set.
    contexts = ((context.phrases, context.boost or None) for context in config.speech_contexts)
    return RecognitionOptions(
        hints=read_hints(contexts, f"{field}.speech_contexts"),
        alternatives=min(config.max_alternatives, MAX_ALTERNATIVES) if config.max_alternatives > 1 else 0,
        word_times=config.enable_word_time_offsets or config.diarization_config.enable_speaker_diarization,
    )


def _diarization(config: pb.SpeakerDiarizationConfig, field: str, speakers: Speakers) -> Diarization | None:
    if not config.enable_speaker_diarization:
        return None
    asking = f"{field}.enable_speaker_diarization"
    return speakers.diarization(config.max_speaker_count, f"{field}.max_speaker_count", asking)


def _channels(config: pb.RecognitionConfig, field: str) -> int:
    """Return how many channels are recognized."""
    if not 0 <= config.audio_channel_count <= MAX_CHANNELS:
        message = f"{config.audio_channel_count} channels are not served: send 1 or {MAX_CHANNELS}"
        raise InvalidInputError(f"{field}.audio_channel_count", "CHANNEL_COUNT_OUT_OF_RANGE", message)
    return max(1, config.audio_channel_count) if config.enable_separate_recognition_per_channel else 1


def _decoder(config: pb.RecognitionConfig, field: str, channels: int) -> ChannelDecoder:
    if config.encoding not in _ENCODINGS:
        known = ", ".join(riva_audio_pb2.AudioEncoding.keys()[1:])
        message = f"the audio encoding {config.encoding} is unknown: choose one of {known}"
        raise InvalidInputError(f"{field}.encoding", "UNKNOWN_ENCODING", message)
    with renamed({"config.audio.sample_rate_hz": f"{field}.sample_rate_hertz"}):
        return channel_decoder(
            _ENCODINGS[config.encoding],
            config.sample_rate_hertz,
            config.audio_channel_count,
            channels,
            leaves_out=not config.enable_separate_recognition_per_channel,
        )
