"""Reads ``config.pbtxt`` and gives models other names, so that two versions of an engine can stand side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable


class BadConfigError(ValueError):
    """A ``config.pbtxt`` is not what Triton reads; the message says where."""


def steps(config: str) -> tuple[str, ...]:
    """Returns the names of the models that an ensemble's ``config.pbtxt`` names; none for any other model.

    Raises:
        BadConfigError: it cannot be read.
    """
    return tuple(dict.fromkeys(step.model_name for step in parse(config).ensemble_scheduling.step))


def tensors(config: str) -> frozenset[str]:
    """Returns the names of a model's inputs and outputs.

    Raises:
        BadConfigError: it cannot be read.
    """
    message = parse(config)
    return frozenset(tensor.name for tensor in (*message.input, *message.output))


def renamed(config: str, rename: Callable[[str], str]) -> str:
    """Returns a ``config.pbtxt`` whose model, and the steps of an ensemble, have the names that ``rename`` gives.

    Raises:
        BadConfigError: it cannot be read.
    """
    message = parse(config)
    if message.name:
        message.name = rename(message.name)
    for step in message.ensemble_scheduling.step:
        step.model_name = rename(step.model_name)
    return str(text_format.MessageToString(message))


def parse(config: str) -> model_config_pb2.ModelConfig:
    """Reads a ``config.pbtxt``.

    Raises:
        BadConfigError: it cannot be read.
    """
    try:
        return text_format.Parse(config, model_config_pb2.ModelConfig())
    except text_format.ParseError as error:
        raise BadConfigError(str(error)) from error
