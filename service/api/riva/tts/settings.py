"""Reader of Riva's synthesis requests: fields are honoured or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import SPEECH_RATE_HZ, Encoding
from pipelines.errors import InvalidInputError
from pipelines.models.synthesis_port import DEFAULT_VOICE
from pipelines.speech.lexicon import Lexicon, LexiconEntry
from pipelines.speech.phonemes import to_ipa
from pipelines.speech.script import sentences_of_ssml, sentences_of_text
from service.api.riva.proto import riva_audio_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.speech.sentences import Sentence
    from pipelines.speech.synthesis import Voice
    from service.api.riva.proto import riva_tts_pb2 as pb
    from service.sessions.host import SessionHost

_ENCODINGS = {
    riva_audio_pb2.ENCODING_UNSPECIFIED: Encoding.LINEAR_PCM,
    riva_audio_pb2.LINEAR_PCM: Encoding.LINEAR_PCM,
    riva_audio_pb2.FLAC: Encoding.FLAC,
    riva_audio_pb2.MULAW: Encoding.MULAW,
    riva_audio_pb2.OGGOPUS: Encoding.OGGOPUS,
    riva_audio_pb2.ALAW: Encoding.ALAW,
}
_AMERICAN = re.compile(r"(?:^|[.\-_])(?:english[-_]us|en[-_]us)(?:[.\-_]|$)", re.IGNORECASE)
"""Part of NVIDIA's names of American English voices, such as "Magpie-Multilingual.EN-US.Aria"."""
_MAX_NAME_CHARACTERS = 100
_ENTRY = re.compile(r"\s*(\S(?:.*?\S)?)\s{2,}(\S.*?)\s*", re.DOTALL)
_SEED = 0
"""Riva's requests have none; the same text is spoken the same way."""


@dataclass(frozen=True, slots=True)
class SynthesisSettings:
    """Settings of one synthesis request.

    Attributes:
        sentences: what is spoken.
        voice: speaks.
        seed: fixes the noise in it.
        audio_format: how it is encoded.
    """

    sentences: Iterator[Sentence]
    voice: Voice
    seed: int
    audio_format: SpeechFormat


def to_settings(request: pb.SynthesizeSpeechRequest, host: SessionHost) -> SynthesisSettings:
    """Read a request.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    voice = to_voice(request.voice_name, host, "voice_name", request.language_code)
    _refuse_what_there_is_not(request)
    encoding = _ENCODINGS.get(request.encoding)
    if encoding is None:
        message = "the encoding is unknown: choose LINEAR_PCM, MULAW, ALAW or OGGOPUS"
        raise InvalidInputError("encoding", "UNKNOWN_ENCODING", message)
    audio_format = SpeechFormat(encoding, request.sample_rate_hz or SPEECH_RATE_HZ)
    lexicon = Lexicon(_dictionary(request.custom_dictionary), "custom_dictionary")
    read = sentences_of_ssml if request.text.lstrip().startswith("<speak") else sentences_of_text
    sentences = read(request.text, lexicon, field="text", language=voice.language)
    return SynthesisSettings(sentences, voice, _SEED, audio_format)


def to_voice(name: str, host: SessionHost, field: str, language: str = "") -> Voice:
    """Return the voice of a name: ours, also for NVIDIA's American ones.

    Raises:
        InvalidInputError: there is no such voice.
    """
    if len(name) <= _MAX_NAME_CHARACTERS and _AMERICAN.search(name):
        return host.choose_voice(DEFAULT_VOICE, field, language)
    return host.choose_voice(name, field, language)


def _refuse_what_there_is_not(request: pb.SynthesizeSpeechRequest) -> None:
    if request.HasField("zero_shot_data"):
        message = "voices are not imitated: leave zero_shot_data out"
        raise InvalidInputError("zero_shot_data", "NO_ZERO_SHOT", message)
    if request.enable_word_time_offsets:
        message = "it is not told when words are spoken: leave enable_word_time_offsets out"
        raise InvalidInputError("enable_word_time_offsets", "NO_WORD_TIMES", message)
    for key in request.custom_configuration:
        message = "the synthesizer has no options: leave custom_configuration out"
        raise InvalidInputError(f"custom_configuration[{key[:40]}]", "UNKNOWN_OPTION", message)


def _dictionary(text: str) -> list[LexiconEntry]:
    """Read words and phonemes, two spaces between, the entries divided by commas."""
    field = "custom_dictionary"
    entries = []
    for entry in text.split(",") if text.strip() else ():
        found = _ENTRY.fullmatch(entry)
        if found is None:
            message = "an entry of the dictionary is no word with its phonemes: put two spaces between them"
            raise InvalidInputError(field, "BAD_LEXICON_WORD", message)
        word, phonemes = found.groups()
        alphabet = "x-arpabet" if phonemes.isascii() and phonemes == phonemes.upper() else "ipa"
        entries.append(LexiconEntry(word, to_ipa(phonemes, alphabet, field)))
    return entries
