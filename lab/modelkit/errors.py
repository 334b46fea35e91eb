"""What goes wrong in model making.

ModelkitError
├── CheckpointError  a network made elsewhere cannot be imported
├── DataError        a data file does not say what its format promises
├── EngineError      an engine directory cannot be used
├── SplitError       a network cannot be cut into stages
└── TrainingError    training cannot begin or go on
"""

from __future__ import annotations


class ModelkitError(ValueError):
    """Model making cannot go on; the message is a sentence that says what to do."""


class CheckpointError(ModelkitError):
    """A network made elsewhere cannot be imported; the message names the file and what does not fit."""


class DataError(ModelkitError):
    """A data file does not say what its format promises; the message names the place."""


class EngineError(ModelkitError):
    """An engine directory cannot be used; the message names it."""


class SplitError(ModelkitError):
    """A network cannot be cut into stages; the message says why, and what can."""


class TrainingError(ModelkitError):
    """Training cannot begin or go on with what it was given."""
