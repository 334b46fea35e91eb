"""Errors about a caller's input, or of the models.

An error says what kind it is, and no transport's code: each API maps the kinds to codes of its own.

::

    ReportedError
    PipelineError(ReportedError)
    ├── InvalidInputError        the caller sent something that cannot be served
    │   └── UndecodableAudioError    the audio is not in the encoding that was promised
    ├── RolloutRefusedError      a version of a model cannot be loaded, unloaded or rolled back to now
    └── ModelError               a model did not do its work
        ├── ModelDeadError           the process of the model has ended
        ├── ModelUnavailableError    the model server cannot be reached, or is not ready
        └── ModelControlError        the model server will not load or unload a model
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class ErrorKind(enum.Enum):
    """Kind of an error, from which an API tells its code."""

    INVALID_INPUT = "the request cannot be served, whenever it is sent"
    REFUSED = "the request does not suit the present state of the server"
    UNAUTHENTICATED = "the caller did not prove who he is"
    EXHAUSTED = "there is no room for the request now"
    UNAVAILABLE = "the server is not ready"
    TIMED_OUT = "the caller took too long"
    FAILED = "the server did not do its work"


class ReportedError(Exception):
    """Root of all errors for callers; the message is one sentence for them.

    Attributes:
        kind: what an API tells its code from.
        reason: one word for programs, such as ``NOT_READY``.
        field: path of the offending field, such as ``audio.sample_rate_hz``; None: the error concerns no field.
        retry_seconds: delay after which it is worth trying again, in seconds; None: unknown.
    """

    kind: ClassVar[ErrorKind]
    reason: str
    field: str | None = None
    retry_seconds: float | None = None


class PipelineError(ReportedError):
    """Root of the errors that pipelines raise."""

    kind = ErrorKind.FAILED
    reason = "INTERNAL"


class InvalidInputError(PipelineError):
    """The caller sent something that cannot be served.

    Attributes:
        field: path of the offending field, such as ``audio.sample_rate_hz``.
        reason: one word for programs, such as ``SAMPLE_RATE_OUT_OF_RANGE``.
    """

    kind = ErrorKind.INVALID_INPUT
    field: str

    def __init__(self, field: str, reason: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.reason = reason


class UndecodableAudioError(InvalidInputError):
    """The audio is not in the encoding that was promised."""

    def __init__(self, message: str) -> None:
        super().__init__("audio", "UNDECODABLE_AUDIO", message)


class RolloutRefusedError(PipelineError):
    """Refused change of a model's versions; everything stays as it was.

    Attributes:
        reason: one word for programs, such as ``SMOKE_EVALUATION_FAILED``.
    """

    kind = ErrorKind.REFUSED

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ModelError(PipelineError):
    """A model did not do its work.

    Attributes:
        recovery: waits until the model serves again, where its process or the model server was lost; None: nothing was
            lost, or nobody brings it back.
    """

    reason = "MODEL_FAILED"
    recovery: Callable[[], Awaitable[None]] | None = None


class ModelDeadError(ModelError):
    """The process of a model has ended, and nobody starts it again."""


class ModelUnavailableError(ModelError):
    """Model server not reachable or not ready; trying again may help."""

    kind = ErrorKind.UNAVAILABLE
    reason = "MODELS_UNAVAILABLE"
    retry_seconds = 2.0


class ModelControlError(ModelError):
    """The model server will not load or unload a model; the message holds its reason."""
