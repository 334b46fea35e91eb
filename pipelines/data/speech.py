"""Speech of replies: its text, and where sentences begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.data.recognition import Timing


@dataclass(frozen=True, slots=True)
class SpokenText:
    """Spoken text of a reply.

    Attributes:
        text: "" where nothing is.
        timing: None: nothing is computed.
    """

    text: str = ""
    timing: Timing | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Start of a sentence in the audio.

    Attributes:
        text: the sentence.
        seconds: time in the audio.
    """

    text: str
    seconds: float
