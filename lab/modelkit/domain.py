"""A domain that its owner describes with sentences and the values of its slots.

A folder with ``sentences.txt``, one sentence a line, and ``slot_values.json``, an object that lists for every slot all
the values that it can have.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modelkit.errors import DataError
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

SENTENCES = "sentences.txt"
SLOT_VALUES = "slot_values.json"


@dataclass(frozen=True, slots=True)
class Domain:
    """What people say in a domain.

    Attributes:
        sentences: as its owner wrote them.
        slot_values: all values of every slot.
    """

    sentences: tuple[str, ...]
    slot_values: dict[str, tuple[str, ...]]


def read_domain(folder: Path) -> Domain:
    """Reads the folder of a domain.

    Raises:
        DataError: a file is missing, empty, no UTF-8, or not of its form; the message names it.
    """
    lines = read_text(folder / SENTENCES).splitlines()
    sentences = tuple(" ".join(line.split()) for line in lines if line.strip())
    if not sentences:
        raise DataError(f"{folder / SENTENCES} is empty: write one sentence a line")
    return Domain(sentences, _read_values(folder / SLOT_VALUES))


def is_domain(path: Path) -> bool:
    """Whether ``path`` is a folder that means to describe a domain."""
    return path.is_dir() and any((path / name).exists() for name in (SENTENCES, SLOT_VALUES))


def _read_values(path: Path) -> dict[str, tuple[str, ...]]:
    form = 'write {"size": ["small", "large"]}, with every value of each slot'
    try:
        fields = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: {error.msg}; {form}") from error
    if not isinstance(fields, dict) or not fields:
        raise DataError(f"{path} holds no slots: {form}")
    values: dict[str, tuple[str, ...]] = {}
    for name, listed in fields.items():
        if not isinstance(listed, list) or not listed or not all(isinstance(v, str) and v.strip() for v in listed):
            raise DataError(f"{path}: the slot {name} has no list of texts: {form}")
        values[name] = tuple(dict.fromkeys(" ".join(value.split()) for value in listed))
    return values
