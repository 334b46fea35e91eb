"""Reader of smoke evaluations; see ``pipelines.models.versions.trial``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import soundfile

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import InvalidInputError
from pipelines.models.versions.probes import (
    AnswerProbe,
    IntentProbe,
    PauseProbe,
    PunctuationProbe,
    SpeechProbe,
    SynthesisProbe,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from pipelines.models.versions.probes import Probe

    ReadExample = Callable[[Mapping[str, Any], Path], Probe[Any]]

MAX_EXAMPLES = 100
"""More would take longer than a roll-out should."""


def read_smoke(path: Path, read: ReadExample) -> list[Probe[Any]]:
    """Read the labelled examples of an engine; none when there is no such file.

    Args:
        path: the file.
        read: reads one line of it, see ``EngineContract.read_example``.

    Raises:
        InvalidInputError: a line is not an example of this engine; the message names it.
        OSError: it cannot be read.
    """
    if not path.exists() and not path.is_symlink():
        return []
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise _bad(path, f"it is not UTF-8 (see its byte {error.start})") from error
    if len(lines) > MAX_EXAMPLES:
        raise _bad(path, f"it has {len(lines)} examples: keep at most {MAX_EXAMPLES}")
    return [_example(path, number, line, read) for number, line in enumerate(lines, start=1)]


def _example(path: Path, number: int, line: str, read: ReadExample) -> Probe[Any]:
    try:
        return read(json.loads(line), path.parent)
    except (KeyError, TypeError, AttributeError) as error:
        raise _bad(path, f"line {number} is no example of this engine: {error} is missing or wrong") from error
    except (ValueError, OverflowError, soundfile.LibsndfileError) as error:
        raise _bad(path, f"line {number} cannot be read: {error}") from error


def read_intent(fields: Mapping[str, Any], _: Path) -> IntentProbe:
    """Read an utterance with its intent, and with its slots where they count."""
    slots = fields.get("slots")
    spans = None if slots is None else frozenset((_str(s, "name"), int(s["start"]), int(s["end"])) for s in slots)
    return IntentProbe(_str(fields, "text"), _str(fields, "intent"), spans)


def read_question(fields: Mapping[str, Any], _: Path) -> AnswerProbe:
    """Read a question with document and answer, null for none."""
    answer = None if fields["answer"] is None else _str(fields, "answer")
    return AnswerProbe(_str(fields, "question"), _str(fields, "document"), answer)


def read_punctuated(fields: Mapping[str, Any], _: Path) -> PunctuationProbe:
    """Read a text without capitals and punctuation, and the same with them."""
    return PunctuationProbe(_str(fields, "text"), _str(fields, "punctuated"))


def read_spoken(fields: Mapping[str, Any], _: Path) -> SynthesisProbe:
    """Read a text with the seconds that speaking it takes."""
    return SynthesisProbe(_str(fields, "text"), float(fields["seconds"]))


def read_speech(fields: Mapping[str, Any], folder: Path) -> SpeechProbe:
    """Read the name of a recording in ``folder`` with what is said in it."""
    return SpeechProbe(_recording(fields, folder), _str(fields, "text"))


def read_pause(fields: Mapping[str, Any], folder: Path) -> PauseProbe:
    """Read a recording's name in ``folder``, its words, and whether the turn is over."""
    if not isinstance(fields["text"], str):
        raise TypeError("text")
    if not isinstance(fields["is_over"], bool):
        raise TypeError("is_over")
    return PauseProbe(_recording(fields, folder), fields["text"], fields["is_over"])


def _recording(fields: Mapping[str, Any], folder: Path) -> npt.NDArray[np.float32]:
    name = _str(fields, "audio")
    audio, rate = soundfile.read(folder / name, dtype="float32")
    if rate != MODEL_RATE_HZ or audio.ndim != 1:
        raise ValueError(f"{name} is not 16 kHz mono")
    recording: npt.NDArray[np.float32] = audio
    return recording


def _str(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value.strip():
        raise TypeError(name)
    return value


def _bad(path: Path, what: str) -> InvalidInputError:
    return InvalidInputError("path", "BAD_SMOKE_EVALUATION", f"{path}: {what}")
