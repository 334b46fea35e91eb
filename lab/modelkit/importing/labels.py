"""Names of intents and slots, as checkpoints carry them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from modelkit.errors import CheckpointError
from modelkit.importing.lines import split_lines
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NAMELESS = re.compile(r"LABEL_\d+")


def read_labels(path: Path) -> list[str]:
    """Reads a file of labels, one a line, in the order of the network's outputs.

    Raises:
        CheckpointError: it names fewer than two.
        DataError: it cannot be read.
    """
    return checked_labels(split_labels(read_text(path)), str(path))


def split_labels(text: str) -> list[str]:
    """Splits the text of a file of labels."""
    return [line.strip() for line in split_lines(text) if line.strip()]


def configured_labels(config: Mapping[str, Any], path: Path) -> list[str]:
    """Takes the labels of a classifier from ``id2label`` in a Hugging Face ``config.json``.

    Raises:
        CheckpointError: there are none, or they are none but numbers.
    """
    wanted = 'add "id2label" with the names of its outputs, as {"0": "first", "1": "second"}'
    names = config.get("id2label")
    if not isinstance(names, dict) or not names:
        raise CheckpointError(f"{path} has no labels: {wanted}")
    try:
        by_index = {int(index): str(name) for index, name in names.items()}
    except ValueError as error:
        raise CheckpointError(f"{path}: id2label counts by {error}: {wanted}") from error
    if sorted(by_index) != list(range(len(by_index))):
        raise CheckpointError(f"{path}: id2label does not count from 0 without gaps: {wanted}")
    labels = [by_index[index] for index in range(len(by_index))]
    if all(_NAMELESS.fullmatch(label) for label in labels):
        raise CheckpointError(f"{path} names its labels LABEL_0, LABEL_1, …, which says nothing: {wanted}")
    return checked_labels(labels, str(path))


def checked_labels(labels: Sequence[str], name: str) -> list[str]:
    """Returns labels that an engine can tell apart.

    Raises:
        CheckpointError: there are fewer than two, or two are the same.
    """
    if len(labels) < 2:
        raise CheckpointError(f"{name} has {len(labels)} label: an engine chooses among two or more")
    if len(set(labels)) < len(labels):
        raise CheckpointError(f"{name} has the same label more than once: name each output by itself")
    return list(labels)


def check_count(labels: Sequence[str], outputs: int, name: str) -> None:
    """Checks that there is one label for each output.

    Raises:
        CheckpointError: there is not.
    """
    if len(labels) != outputs:
        raise CheckpointError(f"{name}: {len(labels)} labels for {outputs} outputs: give those that it was trained on")
