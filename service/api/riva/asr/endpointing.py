"""Reader of Riva's ``EndpointingConfig``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode

if TYPE_CHECKING:
    from service.api.riva.asr.options import Options
    from service.api.riva.proto import riva_asr_pb2 as pb

_START_MS = (32, 2_000)
_STOP_MS = (128, 10_000)
_LIKELY_STOP_MS = (64, 10_000)
_STOP_FIELDS = ("stop_history", "stop_threshold", "stop_history_eou", "stop_threshold_eou")


def to_endpointing(config: pb.EndpointingConfig, options: Options, field: str) -> EndpointingConfig:
    """Read when utterances begin and end; ``field`` is the path of ``config``.

    Raises:
        InvalidInputError: a value is out of its range; the error names the field.
    """
    default = EndpointingConfig()
    stop_seconds = _seconds(config, "stop_history", field, _STOP_MS) or default.stop_window_seconds
    likely_stop_seconds = _seconds(config, "stop_history_eou", field, _LIKELY_STOP_MS)
    if likely_stop_seconds is None and config.HasField("stop_threshold_eou"):
        raise _out_of_range(f"{field}.stop_threshold_eou", "stop_threshold_eou needs stop_history_eou: send both")
    if likely_stop_seconds is not None and likely_stop_seconds >= stop_seconds:
        # A first pass that would come after the second: clients send it, and get the second alone.
        likely_stop_seconds = None
    # Callers that choose how much silence ends an utterance get that. All others hear of no end later than they would.
    chooses_silence = any(config.HasField(name) for name in _STOP_FIELDS)
    return EndpointingConfig(
        start_window_seconds=_seconds(config, "start_history", field, _START_MS) or default.start_window_seconds,
        start_threshold=_share(config, "start_threshold", field, default.start_threshold),
        stop_window_seconds=stop_seconds,
        stop_threshold=1 - _share(config, "stop_threshold", field, 1 - default.stop_threshold),
        likely_stop_window_seconds=likely_stop_seconds,
        likely_stop_threshold=1 - _share(config, "stop_threshold_eou", field, 1 - default.likely_stop_threshold),
        speech_begins=options.speech_begins,
        speech_ends=options.speech_ends,
        mode=EndpointingMode.SILENCE if chooses_silence else EndpointingMode.MODEL,
        longest_silence_seconds=None if chooses_silence else stop_seconds,
    )


def _seconds(config: pb.EndpointingConfig, name: str, field: str, allowed: tuple[int, int]) -> float | None:
    if not config.HasField(name):
        return None
    milliseconds, (low, high) = getattr(config, name), allowed
    if not low <= milliseconds <= high:
        raise _out_of_range(f"{field}.{name}", f"{name} is {milliseconds}: it must be {low} to {high:,} ms")
    return float(milliseconds / 1000)


def _share(config: pb.EndpointingConfig, name: str, field: str, default: float) -> float:
    """Read a threshold, rounded: 0.98 in single precision is 49 of 50 windows."""
    if not config.HasField(name):
        return default
    share = round(float(getattr(config, name)), 6)
    if not 0 < share <= 1:
        raise _out_of_range(f"{field}.{name}", f"{name} is {share:g}: it must be above 0 and at most 1")
    return share


def _out_of_range(field: str, message: str) -> InvalidInputError:
    return InvalidInputError(field, "ENDPOINTING_OUT_OF_RANGE", message)
