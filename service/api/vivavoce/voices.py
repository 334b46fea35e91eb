"""Converters of format, seed and pronunciations, for `Say` and spoken replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import SPEECH_RATE_HZ, Encoding
from pipelines.errors import InvalidInputError
from pipelines.speech.lexicon import Lexicon, LexiconEntry
from service.api.vivavoce.encodings import to_encoding
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable


def to_format(asked: pb.SayRequest | pb.ReplyAudioConfig, prefix: str) -> SpeechFormat:
    """Read how the audio is encoded.

    Args:
        asked: what is asked for.
        prefix: path of it, with a dot, in errors.

    Raises:
        InvalidInputError: speech is not encoded so.
    """
    encoding, field = Encoding.LINEAR_PCM, f"{prefix}encoding"
    if asked.encoding != pb.AUDIO_ENCODING_UNSPECIFIED:
        encoding = to_encoding(asked.encoding, field)
    return SpeechFormat(encoding, asked.sample_rate_hz or SPEECH_RATE_HZ, field, f"{prefix}sample_rate_hz")


def check_seed(seed: int, field: str) -> int:
    """Return a seed as it is.

    Raises:
        InvalidInputError: it is negative.
    """
    if seed < 0:
        raise InvalidInputError(field, "SEED_OUT_OF_RANGE", "the seed is negative: send 0 or more")
    return seed


def to_lexicon(entries: Iterable[pb.LexiconEntry], field: str) -> Lexicon:
    """Read how words are pronounced.

    Raises:
        InvalidInputError: there are too many, or one says nothing.
    """
    return Lexicon([LexiconEntry(entry.word, entry.phonemes, entry.alias) for entry in entries], field)
