"""Options in ``custom_configuration`` and ``runtime_config``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.vad.voice_activity import SPEECH_BEGINS, SPEECH_ENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOLEANS = {"true": True, "false": False}
_ONSET, _OFFSET = "neural_vad.onset", "neural_vad.offset"
_DETECTION = "enable_automatic_language_detection"
_FORCE_END = "force_eou"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of ``custom_configuration``.

    Attributes:
        speech_begins: probability from which on a window is speech after silence.
        speech_ends: probability below which it is silence after speech.
        figures_in_partials: whether interim transcripts are written in figures, too.
        vad_probabilities: whether results tell the probabilities of speech.
        detects_language: whether the language is to be found out.
    """

    speech_begins: float = SPEECH_BEGINS
    speech_ends: float = SPEECH_ENDS
    figures_in_partials: bool = False
    vad_probabilities: bool = False
    detects_language: bool = False


def to_options(values: Mapping[str, str], field: str, *, detects: bool = False) -> Options:
    """Read ``custom_configuration``, which ``field`` is the path of.

    Args:
        values: by key.
        field: see above.
        detects: whether the recognizer can find out which language is spoken.

    Raises:
        InvalidInputError: a key is not served, or a value is not what its key takes.
    """
    known = {
        "apply_partial_itn",
        _DETECTION,
        "enable_vad_endpointing",
        "get_vad_probabilities",
        _OFFSET,
        _ONSET,
    }
    _refuse_others(values, known, field)
    _require(values, "enable_vad_endpointing", field, only=True)
    if not detects:
        _require(values, _DETECTION, field, only=False)
    speech_begins, speech_ends = _thresholds(values, field)
    return Options(
        speech_begins=speech_begins,
        speech_ends=speech_ends,
        figures_in_partials=_boolean(values, "apply_partial_itn", field, default=False),
        detects_language=_boolean(values, _DETECTION, field, default=False),
        vad_probabilities=_boolean(values, "get_vad_probabilities", field, default=False),
    )


def ends_utterance(values: Mapping[str, str]) -> bool:
    """Read ``runtime_config``: whether the utterance ends with the request.

    Raises:
        InvalidInputError: a key is not served, or its value is neither true nor false.
    """
    _refuse_others(values, {_FORCE_END}, "runtime_config")
    return _boolean(values, _FORCE_END, "runtime_config", default=False)


def _refuse_others(values: Mapping[str, str], known: set[str], field: str) -> None:
    for key in values:
        if key not in known:
            message = f"the option {key!r} is not served: choose among {', '.join(sorted(known))}"
            raise InvalidInputError(f"{field}[{key}]", "UNKNOWN_OPTION", message)


def _require(values: Mapping[str, str], key: str, field: str, *, only: bool) -> None:
    if _boolean(values, key, field, default=only) is not only:
        raise _bad_value(field, key, str(only).lower())


def _boolean(values: Mapping[str, str], key: str, field: str, *, default: bool) -> bool:
    if key not in values:
        return default
    value = _BOOLEANS.get(values[key].strip().lower())
    if value is None:
        raise _bad_value(field, key, "true or false")
    return value


def _thresholds(values: Mapping[str, str], field: str) -> tuple[float, float]:
    """Read the thresholds of speech; a default gives way to the one that was sent."""
    begins, ends = _probability(values, _ONSET, field), _probability(values, _OFFSET, field)
    if begins is None:
        begins = max(SPEECH_BEGINS, ends or 0.0)
    if ends is None:
        ends = min(SPEECH_ENDS, begins)
    if ends > begins:
        raise _bad_value(field, _OFFSET, f"at most that of {_ONSET}, {begins:g}")
    return begins, ends


def _probability(values: Mapping[str, str], key: str, field: str) -> float | None:
    if key not in values:
        return None
    try:
        value = float(values[key])
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise _bad_value(field, key, "above 0 and at most 1")
    return value


def _bad_value(field: str, key: str, allowed: str) -> InvalidInputError:
    return InvalidInputError(f"{field}[{key}]", "BAD_OPTION_VALUE", f"the option {key} must be {allowed}")
