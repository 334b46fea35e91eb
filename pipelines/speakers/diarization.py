"""Settings of speaker diarization of one conversation."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.errors import InvalidInputError
from pipelines.speakers.clustering import DEFAULT_MAX_SPEAKERS, MAX_SPEAKERS
from pipelines.speakers.enrolled import EnrolledVoices


@dataclass(frozen=True, slots=True)
class Diarization:
    """Speaker diarization of a conversation.

    Attributes:
        max_speakers: speakers at most; further voices count as the likeliest of them.
        enrolled: voices that are told by name.
    """

    max_speakers: int = DEFAULT_MAX_SPEAKERS
    enrolled: EnrolledVoices = field(default_factory=EnrolledVoices)


def read_max_speakers(count: int, name: str) -> int:
    """Return how many speakers are told apart; 0 stands for the default.

    Args:
        count: as the caller gave it.
        name: the field that it stands in.

    Raises:
        InvalidInputError: it is out of range.
    """
    if not 0 <= count <= MAX_SPEAKERS:
        message = f"{count} speakers cannot be told apart: ask for 1 to {MAX_SPEAKERS}"
        raise InvalidInputError(name, "SPEAKER_COUNT_OUT_OF_RANGE", message)
    return count or DEFAULT_MAX_SPEAKERS
