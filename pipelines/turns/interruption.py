"""Interruption rules: lasting speech, without backchannels and echo."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.turns.echo import words_of
from pipelines.vad.voice_activity import WINDOW_SECONDS

if TYPE_CHECKING:
    from pipelines.turns.turn import Turn

_HUMS = tuple(f"{first} {second}" for first in ("m", "mm", "um", "am", "i'm", "and") for second in ("hm", "hmm", "him"))

BACKCHANNELS = (
    "mhm", "mm", "mmm", "mmhmm", "hm", "hmm", "him", *_HUMS, "uh huh", "aha", "ah", "oh", "uh", "um", "huh",
    "yeah", "yep", "yup", "yes", "ya", "yah", "okay", "ok", "alright", "all right", "right", "sure", "i see", "got it",
    "good", "great", "nice", "cool", "fine", "wow", "of course", "exactly", "true", "really",
)  # fmt: skip
"""What listeners say to show that they listen, in lower case and without punctuation; hums as they are recognized."""

MAX_BACKCHANNELS = 100
MAX_BACKCHANNEL_CHARACTERS = 50
MAX_SHORTEST_SPEECH_SECONDS = 5.0
DEFAULT_SHORTEST_SPEECH_SECONDS = 0.2

LONG_SPEECH_SECONDS = 0.7
"""Speech of this length is no backchannel if it has several words so far that are none."""
MIN_LONG_SPEECH_WORDS = 3
"""So many, of which the last may be cut off: the first words of speech that goes on are often misheard."""
LONGER_SPEECH_SECONDS = 1.2
"""Speech of this length is none, unless all of its words so far are."""
LONGEST_BACKCHANNEL_SECONDS = 1.6
"""Longer speech interrupts, whatever its words seem to be."""

_FIELD = "config.interruption"


@dataclass(frozen=True, slots=True)
class InterruptionConfig:
    """Settings of interruptions.

    Attributes:
        enabled: whether speech and typed turns do at all.
        shortest_speech_seconds: shorter speech does not interrupt, 0 to 5.
        backchannels: words that do not interrupt when they are said alone; empty: all words do.

    Raises:
        InvalidInputError: a value is out of its range; the error names the field.
    """

    enabled: bool = True
    shortest_speech_seconds: float = DEFAULT_SHORTEST_SPEECH_SECONDS
    backchannels: tuple[str, ...] = BACKCHANNELS

    def __post_init__(self) -> None:
        if not 0 <= self.shortest_speech_seconds <= MAX_SHORTEST_SPEECH_SECONDS:
            message = (
                f"shortest_speech is {self.shortest_speech_seconds:g} s: "
                f"it must be 0 to {MAX_SHORTEST_SPEECH_SECONDS:g} s"
            )
            raise InvalidInputError(f"{_FIELD}.shortest_speech", "INTERRUPTION_OUT_OF_RANGE", message)
        if len(self.backchannels) > MAX_BACKCHANNELS:
            message = f"there are {len(self.backchannels)} backchannels: send at most {MAX_BACKCHANNELS}"
            raise InvalidInputError(f"{_FIELD}.backchannels", "TOO_MANY_BACKCHANNELS", message)
        if any(not words_of(one) or len(one) > MAX_BACKCHANNEL_CHARACTERS for one in self.backchannels):
            message = f"a backchannel has no words or is too long: write 1 to {MAX_BACKCHANNEL_CHARACTERS} characters"
            raise InvalidInputError(f"{_FIELD}.backchannels", "BAD_BACKCHANNEL", message)


class Verdict(enum.Enum):
    """Verdict on speech over a spoken reply."""

    HOLD = "hold"
    """It is not known yet: the reply waits."""
    GO_ON = "go_on"
    """It has paused after a backchannel: the reply goes on, and so does listening."""
    IGNORE = "ignore"
    """It is over, and was no interruption."""
    INTERRUPT = "interrupt"


def verdict(config: InterruptionConfig, turn: Turn, *, rests: bool, pauses: bool, is_noise: bool) -> Verdict:
    """Return what the speech of ``turn``, over a spoken reply, comes to.

    Args:
        config: what the caller chose.
        turn: the speech so far.
        rests: whether nothing is heard for the moment, recognized or not.
        pauses: whether the speaker pauses, and all of the speech is recognized.
        is_noise: whether there is so little speech in it that it has none.
    """
    seconds = turn.speech_windows * WINDOW_SECONDS
    is_over = turn.ended_at is not None
    spared = Verdict.IGNORE if is_over else Verdict.GO_ON if pauses else Verdict.HOLD
    if seconds < config.shortest_speech_seconds:
        return Verdict.GO_ON if rests and not is_over else spared
    if not config.backchannels or seconds >= LONGEST_BACKCHANNEL_SECONDS:
        return Verdict.INTERRUPT
    if is_over and not turn.recognized:
        return Verdict.HOLD
    is_spared = turn.is_echo or is_backchannel(turn.text, config.backchannels)
    if is_over or pauses:
        is_empty = is_noise or not words_of(turn.text)
        return spared if not turn.asr_failed and (is_empty or is_spared) else Verdict.INTERRUPT
    words = words_of(turn.text)
    is_clear = len(words) >= MIN_LONG_SPEECH_WORDS and not is_backchannel(" ".join(words[:-1]), config.backchannels)
    is_long = seconds >= (LONG_SPEECH_SECONDS if is_clear else LONGER_SPEECH_SECONDS)
    return Verdict.INTERRUPT if is_long and not is_spared else Verdict.HOLD


def is_backchannel(text: str, backchannels: tuple[str, ...]) -> bool:
    """Return whether a text consists of backchannels."""
    words = words_of(text)
    known = {tuple(words_of(one)) for one in backchannels}
    longest = max(map(len, known), default=0)
    at, size = 0, 1
    while at < len(words) and size:
        size = next((size for size in range(longest, 0, -1) if tuple(words[at : at + size]) in known), 0)
        at += size
    return bool(words) and bool(size)
