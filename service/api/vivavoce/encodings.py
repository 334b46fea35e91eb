"""Audio encodings of ``vivavoce.v1``."""

from __future__ import annotations

from pipelines.audio.formats import Encoding
from pipelines.errors import InvalidInputError
from vivavoce.v1 import conversation_pb2 as pb

_ENCODINGS = {
    pb.AUDIO_ENCODING_LINEAR_PCM: Encoding.LINEAR_PCM,
    pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32: Encoding.LINEAR_PCM_FLOAT32,
    pb.AUDIO_ENCODING_MULAW: Encoding.MULAW,
    pb.AUDIO_ENCODING_ALAW: Encoding.ALAW,
    pb.AUDIO_ENCODING_FLAC: Encoding.FLAC,
    pb.AUDIO_ENCODING_OGGOPUS: Encoding.OGGOPUS,
    pb.AUDIO_ENCODING_CONTAINER: Encoding.CONTAINER,
}


def to_encoding(number: pb.AudioEncoding, field: str) -> Encoding:
    """Read an encoding; raise InvalidInputError where it is missing or unknown."""
    if (encoding := _ENCODINGS.get(number)) is None:
        known = ", ".join(encoding.value for encoding in Encoding)
        raise InvalidInputError(
            field, "UNKNOWN_ENCODING", f"the audio encoding is missing or unknown: choose one of {known}"
        )
    return encoding
