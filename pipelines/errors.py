"""What can be wrong with what a caller sent, or with the models behind.

::

    PipelineError
    ├── InvalidInputError        the caller sent something that cannot be served
    │   └── UndecodableAudioError    the audio is not in the encoding that was promised
    ├── RolloutRefusedError      a version of a model cannot be loaded, unloaded or rolled back to now
    └── ModelError               a model did not do its work
        ├── ModelDeadError           the process of the model has ended
        ├── ModelUnavailableError    the model server cannot be reached, or is not ready
        └── ModelControlError        the model server will not load or unload a model
"""

from __future__ import annotations


class PipelineError(Exception):
    """Root of the errors that pipelines raise. The message is one sentence for the caller."""


class InvalidInputError(PipelineError):
    """The caller sent something that cannot be served.

    Attributes:
        field: path of the offending field, such as ``audio.sample_rate_hz``.
        reason: one word for programs, such as ``SAMPLE_RATE_OUT_OF_RANGE``.
    """

    def __init__(self, field: str, reason: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.reason = reason


class UndecodableAudioError(InvalidInputError):
    """The audio is not in the encoding that was promised."""

    def __init__(self, message: str) -> None:
        super().__init__("audio", "UNDECODABLE_AUDIO", message)


class RolloutRefusedError(PipelineError):
    """A version of a model cannot be loaded, unloaded or rolled back to; everything stays as it was.

    Attributes:
        reason: one word for programs, such as ``SMOKE_EVALUATION_FAILED``.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ModelError(PipelineError):
    """A model did not do its work."""


class ModelDeadError(ModelError):
    """The process of a model has ended, and nobody starts it again."""


class ModelUnavailableError(ModelError):
    """The model server cannot be reached, or is not ready; trying again later may help."""


class ModelControlError(ModelError):
    """The model server will not load or unload a model; the message holds its reason."""
