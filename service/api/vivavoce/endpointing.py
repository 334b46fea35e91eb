"""Reads ``EndpointingConfig`` of ``vivavoce.v1``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from pipelines.errors import InvalidInputError
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode, Patience
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf import duration_pb2

_MODES = {pb.ENDPOINTING_MODE_MODEL: EndpointingMode.MODEL, pb.ENDPOINTING_MODE_SILENCE: EndpointingMode.SILENCE}
_PATIENCES = {
    pb.PATIENCE_EAGER: Patience.EAGER,
    pb.PATIENCE_NORMAL: Patience.NORMAL,
    pb.PATIENCE_PATIENT: Patience.PATIENT,
}
_WINDOWS = ("start_window", "stop_window")
_THRESHOLDS = ("start_threshold", "stop_threshold")
_SILENCES = ("shortest_silence", "longest_silence")


def to_endpointing(endpointing: pb.EndpointingConfig) -> EndpointingConfig:
    """Read when utterances begin and end.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    field = "config.endpointing"
    windows: dict[str, Any] = {
        f"{name}_seconds": seconds(getattr(endpointing, name)) for name in _WINDOWS if endpointing.HasField(name)
    } | {name: getattr(endpointing, name) for name in _THRESHOLDS if endpointing.HasField(name)}
    chosen = read_changes(endpointing, field)
    if endpointing.disabled:
        if windows or chosen:
            message = "endpointing is disabled: leave its other fields out"
            raise InvalidInputError(field, "ENDPOINTING_DISABLED", message)
        return EndpointingConfig(enabled=False)
    # Callers that choose the silence, and know nothing of the model, get the silence.
    silent = not chosen and ("stop_window_seconds" in windows or "stop_threshold" in windows)
    mode = EndpointingMode.SILENCE if silent else EndpointingMode.MODEL
    return dataclasses.replace(EndpointingConfig(mode=mode), **windows, **chosen)


def read_changes(endpointing: pb.EndpointingConfig, field: str) -> dict[str, Any]:
    """Read the settings that may change in mid-conversation; ``field`` is their path.

    Raises:
        InvalidInputError: a value is unknown, or of no effect in the chosen mode.
    """
    chosen: dict[str, Any] = {
        f"{name}_seconds": seconds(getattr(endpointing, name)) for name in _SILENCES if endpointing.HasField(name)
    }
    if endpointing.patience:
        chosen["patience"] = _known(endpointing.patience, _PATIENCES, f"{field}.patience", pb.Patience, "PATIENCE_")
    if endpointing.mode:
        mode = _known(endpointing.mode, _MODES, f"{field}.mode", pb.EndpointingMode, "ENDPOINTING_MODE_")
        if mode is EndpointingMode.SILENCE and chosen:
            name = next(iter(chosen)).removesuffix("_seconds")
            message = f"{name} is of no effect in the mode SILENCE: leave it out, or choose the mode MODEL"
            raise InvalidInputError(f"{field}.{name}", "ENDPOINTING_CONFLICT", message)
        chosen["mode"] = mode
    return chosen


def refuse_fixed(endpointing: pb.EndpointingConfig, field: str) -> None:
    """Check that no field is set that holds for a whole conversation.

    Raises:
        InvalidInputError: one is; the error names it.
    """
    fixed = ("disabled", *_WINDOWS, *_THRESHOLDS)
    name = next(
        (one for one in fixed if (endpointing.disabled if one == "disabled" else endpointing.HasField(one))), ""
    )
    if name:
        message = f"{name} holds for a whole conversation: send it in the config, and leave it out of updates"
        raise InvalidInputError(f"{field}.{name}", "FIXED_FIELD", message)


def seconds(duration: duration_pb2.Duration) -> float:
    """Read a length of time."""
    return duration.seconds + duration.nanos / 1e9


def _known(number: int, known: dict[Any, Any], field: str, names: Any, prefix: str) -> Any:  # noqa: ANN401 - enums
    if number not in known:
        choices = ", ".join(names.Name(one).removeprefix(prefix) for one in known)
        message = f"the value {number} of {field.rsplit('.', 1)[1]} is unknown: choose one of {choices}"
        raise InvalidInputError(field, "UNKNOWN_ENDPOINTING", message)
    return known[number]
