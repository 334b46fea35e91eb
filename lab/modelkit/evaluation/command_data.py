"""A folder of recorded commands: ``labels.json``, ``audio/``, and the domain that they are from.

``labels.json`` is an object: ``{"a.flac": {"intent": "orderDrink", "slots": {"size": "small"}}}``, a recording in
``audio/`` each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import vivavoce
from modelkit.domain import read_domain
from modelkit.errors import DataError
from modelkit.evaluation.recordings import AUDIO_SUFFIXES
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.domain import Domain

LABELS = "labels.json"
AUDIO = "audio"

_FORM = '{"intent": "…", "slots": {"name": "value"}}'


class Half(Enum):
    """The halves that recordings fall into: what was tuned on one is checked on the other."""

    TUNING = "tuning"
    """The first, third, … in the order of their names."""
    OTHER = "other"
    """The second, fourth, …"""


@dataclass(frozen=True, slots=True)
class Command:
    """A recorded command.

    Attributes:
        path: the recording.
        half: which half it falls into.
        intent: what is wanted.
        slots: value of every slot, by name.
    """

    path: Path
    half: Half
    intent: str
    slots: Mapping[str, str]


def read_commands(folder: Path) -> tuple[list[Command], Domain]:
    """Reads the recorded commands of a folder, and its domain.

    Raises:
        DataError: a file is missing or not of its form, a label has no recording or a recording no label, or a value
            is none of its slot's; the message names the place.
        vivavoce.NotAudio: a recording cannot be read.
    """
    domain = read_domain(folder)
    labels = _read_labels(folder / LABELS)
    _check_recordings(folder, set(labels))
    halves = (Half.TUNING, Half.OTHER)
    commands = [
        _command(folder, name, halves[index % 2], labels[name], domain) for index, name in enumerate(sorted(labels))
    ]
    return commands, domain


def _read_labels(path: Path) -> dict[str, object]:
    try:
        labels = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: {error.msg}; each recording needs {_FORM}") from error
    if not isinstance(labels, dict) or not labels:
        raise DataError(f"{path} labels no recordings: name each with {_FORM}")
    return labels


def _check_recordings(folder: Path, labelled: set[str]) -> None:
    audio = folder / AUDIO
    there = {path.name for path in audio.iterdir()} if audio.is_dir() else set()
    for name in sorted(labelled - there):
        raise DataError(f"{folder / LABELS} labels {name}, but there is no {audio / name}: add it, or remove the label")
    for name in sorted(there - labelled):
        if (audio / name).suffix.lower() in AUDIO_SUFFIXES:
            raise DataError(f"{audio / name} has no label in {folder / LABELS}: add one, or remove the recording")


def _command(folder: Path, name: str, half: Half, label: object, domain: Domain) -> Command:
    place = f"{folder / LABELS}, {name}"
    fields = label if isinstance(label, Mapping) else {}
    intent, slots = fields.get("intent"), fields.get("slots")
    if not isinstance(intent, str) or not isinstance(slots, Mapping):
        raise DataError(f"{place}: write {_FORM}")
    for slot, value in slots.items():
        if value not in domain.slot_values.get(slot, ()):
            raise DataError(
                f"{place}: {value!r} is no value of the slot {slot}: correct it, or add it to slot_values.json"
            )
    path = folder / AUDIO / name
    vivavoce.read_audio(path)
    return Command(path, half, intent, slots)
