"""Errors of the speech recognition engine.

    AsrError
    ├── UnknownSequenceError     audio for a sequence that was not started, or has ended
    ├── InvalidAudioError        audio that is no audio (NaN, infinity)
    ├── InvalidHintsError        phrase hints or alternatives that are out of bounds
    ├── InvalidLanguageError     a language or a translation that is not offered
    ├── UtteranceTooLongError    a sequence that grows over its limit
    ├── TooManySequencesError    more open sequences than the engine has room for
    └── LostStreamError          a sequence whose state in a stage of the encoder is gone

Each concerns one request; the other requests of a batch are served.
"""

from __future__ import annotations


class AsrError(Exception):
    """A request that cannot be served; the text says what to do."""


class UnknownSequenceError(AsrError):
    """A request without START for a sequence that is not open."""


class InvalidAudioError(AsrError):
    """Audio that holds values which are not finite numbers."""


class InvalidHintsError(AsrError):
    """Phrase hints, boosts or a number of alternatives that are out of bounds."""


class UtteranceTooLongError(AsrError):
    """Audio that would take a sequence over the longest utterance."""


class TooManySequencesError(AsrError):
    """One more sequence than the engine keeps."""


class InvalidLanguageError(AsrError):
    """A language or a translation that the recognizer does not offer."""


class LostStreamError(AsrError):
    """A step of a stream whose caches a stage of the encoder does not hold.

    Attributes:
        SIGN: words by which callers tell that the sequence is to be begun again, which Triton's own error has too.
    """

    SIGN = "must specify the START flag"

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message or f"a stage of the encoder was loaded anew: the next request of the sequence {self.SIGN}"
        )
