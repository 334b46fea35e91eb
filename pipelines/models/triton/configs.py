"""Reading and renaming of ``config.pbtxt``, for versions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable


_ENVIRONMENT = "EXECUTION_ENV_PATH"
"""Parameter of Triton's Python backend that names an archive with a Python of its own."""
_STAGES = "stages"
"""Parameter with the models that a model asks, by commas: stages of its encoder, see ``engines/asr/stages.py``."""


class BadConfigError(ValueError):
    """A ``config.pbtxt`` is not what Triton reads; the message says where."""


def steps(config: str) -> tuple[str, ...]:
    """Return the models that a ``config.pbtxt`` names.

    They are an ensemble's steps, or the stages that a model asks.

    Raises:
        BadConfigError: it cannot be read.
    """
    message = parse(config)
    return tuple(dict.fromkeys((*(step.model_name for step in message.ensemble_scheduling.step), *_stages(message))))


def is_ensemble(config: str) -> bool:
    """Return whether a ``config.pbtxt`` is that of an ensemble, which has no code.

    Raises:
        BadConfigError: it cannot be read.
    """
    return bool(parse(config).ensemble_scheduling.step)


def tensors(config: str) -> frozenset[str]:
    """Return the names of a model's inputs and outputs.

    Raises:
        BadConfigError: it cannot be read.
    """
    message = parse(config)
    return frozenset(tensor.name for tensor in (*message.input, *message.output))


def renamed(config: str, rename: Callable[[str], str]) -> str:
    """Return a ``config.pbtxt`` with models renamed by ``rename``.

    Raises:
        BadConfigError: it cannot be read.
    """
    message = parse(config)
    if message.name:
        message.name = rename(message.name)
    for step in message.ensemble_scheduling.step:
        step.model_name = rename(step.model_name)
    if stages := _stages(message):
        message.parameters[_STAGES].string_value = ",".join(map(rename, stages))
    return str(text_format.MessageToString(message))


def named_code(config: str) -> str:
    """Return the first setting of a ``config.pbtxt`` that names code; "" for none.

    The backends ``python``, which runs the model's ``model.py``, and ``ensemble``, which runs nothing, are no such
    choices.

    Raises:
        BadConfigError: it cannot be read.
    """
    message = parse(config)
    kind = message.backend or message.platform
    if kind not in {"python", "ensemble"}:
        return f"the backend {kind!r}"
    for name in ("runtime", "default_model_filename", "cc_model_filenames"):
        if getattr(message, name):
            return name
    if message.model_repository_agents.agents:
        return "model_repository_agents"
    if message.model_operations.op_library_filename:
        return "op_library_filename"
    return _ENVIRONMENT if _ENVIRONMENT in message.parameters else ""


def _stages(message: model_config_pb2.ModelConfig) -> list[str]:
    named = message.parameters[_STAGES].string_value if _STAGES in message.parameters else ""
    return [name for name in named.split(",") if name]


def parse(config: str) -> model_config_pb2.ModelConfig:
    """Read a ``config.pbtxt``.

    Raises:
        BadConfigError: it cannot be read.
    """
    try:
        return text_format.Parse(config, model_config_pb2.ModelConfig())
    # The parser tells a number that is too large by a plain ValueError.
    except (text_format.ParseError, ValueError) as error:
        raise BadConfigError(str(error)) from error
