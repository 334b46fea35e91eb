"""Reads training data of Rasa's NLU in YAML: intents with marked examples, and lookup tables.

Synonyms and regular expressions are left out: the one belongs to whoever reads the slots, the other to Rasa's own
features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml
from yaml.reader import ReaderError

from modelkit.errors import DataError
from modelkit.markup import parse_marks
from modelkit.nlu import Utterance
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FORM = "it needs nlu:, and below it - intent: NAME with examples: |"


@dataclass(frozen=True, slots=True)
class RasaData:
    """What a file holds: utterances, and the values of its lookup tables by slot."""

    utterances: tuple[Utterance, ...]
    lookups: dict[str, tuple[str, ...]]


def read_rasa(path: Path) -> RasaData:
    """Reads a YAML file of Rasa.

    Raises:
        DataError: the file cannot be read or is not of that form; the message names the line.
    """
    text = read_text(path)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        entries = _child(root, "nlu")
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = f"U+{ord(text[error.position]):04X}"
        raise DataError(f"{path}, line {line}: no YAML ({character} may not stand in it): take it out") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DataError(f"{path}, line {line}: no YAML ({error.problem}): {_FORM}") from error
    if not isinstance(entries, yaml.SequenceNode):
        raise DataError(f"{path}, line 1: no NLU data of Rasa: {_FORM}")
    utterances: list[Utterance] = []
    lookups: dict[str, tuple[str, ...]] = {}
    for entry in entries.value:
        intent, lookup = _scalar(entry, "intent"), _scalar(entry, "lookup")
        if intent:
            utterances += _utterances(path, intent, entry)
        elif lookup:
            lookups[lookup] = tuple(example for _, example in _examples(path, entry))
        elif not any(_scalar(entry, kind) for kind in ("synonym", "regex")):
            raise DataError(f"{path}, line {entry.start_mark.line + 1}: neither intent nor lookup table: {_FORM}")
    if not utterances:
        raise DataError(f"{path} holds no intent with examples: {_FORM}")
    return RasaData(tuple(utterances), lookups)


def _utterances(path: Path, intent: str, entry: yaml.Node) -> Iterator[Utterance]:
    for line, example in _examples(path, entry):
        place = f"{path}, line {line}"
        try:
            text, slots = parse_marks(example)
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
        yield Utterance(text, intent, slots, place)


def _examples(path: Path, entry: yaml.Node) -> Iterator[tuple[int, str]]:
    """Yields the examples of an intent or a lookup table, each with its line in the file."""
    examples = _child(entry, "examples")
    if examples is None:
        raise DataError(f"{path}, line {entry.start_mark.line + 1}: no examples here: write examples: | and a list")
    if isinstance(examples, yaml.SequenceNode):
        for item in examples.value:
            node = _child(item, "text") or item
            text = node.value.strip() if isinstance(node, yaml.ScalarNode) else ""
            if not text:
                raise DataError(f"{path}, line {item.start_mark.line + 1}: an example needs a text")
            yield item.start_mark.line + 1, text
        return
    # A block of text: its first line follows the line of the bar.
    for number, line in enumerate(str(examples.value).split("\n"), examples.start_mark.line + 2):
        if not line.strip():
            continue
        if not line.startswith("- ") or not line[2:].strip():
            raise DataError(f"{path}, line {number}: an example must begin with a dash: write - and the sentence")
        yield number, line[2:].strip()


def _child(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """Finds what a mapping holds under ``name``."""
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)


def _scalar(node: yaml.Node, name: str) -> str:
    child = _child(node, name)
    return str(child.value).strip() if isinstance(child, yaml.ScalarNode) else ""
