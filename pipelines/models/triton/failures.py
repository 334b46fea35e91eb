"""Meaning of Triton's errors."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from pipelines.errors import ModelControlError, ModelError, ModelUnavailableError

if TYPE_CHECKING:
    from tritonclient.utils import InferenceServerException

logger = logging.getLogger(__name__)

LATE = "StatusCode.DEADLINE_EXCEEDED"
UNREACHABLE = {"StatusCode.UNAVAILABLE", LATE, "StatusCode.CANCELLED"}

_UNLOADED = re.compile(r"has no available versions|Model '\S+' is not ready")
_DEAD_PROCESS = re.compile(r"Stub process '(?P<model>\S+)_\d+_\d+' is not healthy")


def model_error(model: str, error: InferenceServerException) -> ModelError:
    """Make our own error of what Triton said of a request to a model."""
    if error.status() in UNREACHABLE:
        return ModelUnavailableError(f"the model server cannot be reached for {model}: try again soon")
    logger.error("the model %s failed: %s", model, error.message())
    return ModelError(f"the model {model} failed: the service's log has the details")


def dead_model(error: InferenceServerException) -> str | None:
    """Return the model whose process is gone, which Triton never restarts."""
    found = _DEAD_PROCESS.search(error.message() or "")
    return found["model"] if found else None


def tells_of_lost_sequence(error: InferenceServerException) -> bool:
    """Return whether Triton lost a request's sequence, by a restart."""
    return "must specify the START flag" in (error.message() or "")


def tells_of_unloaded_model(error: InferenceServerException) -> bool:
    """Return whether Triton holds no version now of a model, or of one that it asks."""
    return _UNLOADED.search(error.message() or "") is not None


def control_error(what: str, error: InferenceServerException) -> ModelError:
    """Translate Triton's error about a load or unload; ``what`` begins the message."""
    message = error.message() or ""
    # Triton says of this too that it is UNAVAILABLE.
    if "explicit model load / unload is not allowed" in message:
        return ModelControlError(f"{what}: it does not run with --model-control-mode=explicit")
    if error.status() in UNREACHABLE or not message:
        return ModelUnavailableError(f"{what}: it cannot be reached, or did not answer in time: try again soon")
    return ModelControlError(f"{what}: {_first_line(message)}")


def _first_line(message: str) -> str:
    """Cut the traceback off that a Python model adds to its reason."""
    return message.replace("\\n", "\n").strip().splitlines()[0].strip()
