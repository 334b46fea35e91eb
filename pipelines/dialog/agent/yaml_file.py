"""YAML with line numbers, bounded in what a file may cost."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from yaml.reader import ReaderError

from pipelines.dialog.agent.problems import AgentError, Problem
from pipelines.regular_files import UnfitFileError, read_regular

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 256 * 1024
"""Of one file. PyYAML reads about 100 KB a second."""
MAX_DEPTH = 16
"""Mappings and lists inside of each other."""

Place = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""


@dataclass(slots=True)
class YamlFile:
    """The content of a YAML file.

    Attributes:
        path: the file.
        content: mappings, lists, texts, numbers, booleans and None.
        lines: the line of every value by its place, counted from 1; that of a value in a mapping is its key's.
    """

    path: Path
    content: Any = None
    lines: dict[Place, int] = field(default_factory=dict)

    def line(self, place: Place) -> int:
        """Return the line of a value, or of the nearest enclosing one."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def problem(self, place: Place, message: str) -> Problem:
        """Make a problem of the value at a place."""
        return Problem(self.path, self.line(place), message)


def read_text(path: Path, max_bytes: int = MAX_BYTES, within: Path | None = None) -> str:
    """Read a UTF-8 file.

    Args:
        path: of the file.
        max_bytes: that it may have.
        within: folder that links must not lead out of; None: they may lead anywhere.

    Raises:
        AgentError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        content = read_regular(path, max_bytes, within)
    except UnfitFileError as error:
        raise AgentError([Problem(path, 0, str(error))]) from error
    except OSError as error:
        raise AgentError([Problem(path, 0, f"cannot be read ({error.strerror}): check its name")]) from error
    if len(content) > max_bytes:
        raise AgentError([Problem(path, 0, f"longer than {max_bytes // 1024} KiB: divide it, or shorten it")])
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AgentError([Problem(path, line, "not UTF-8: save the file as UTF-8")]) from error


def read_yaml(path: Path) -> YamlFile:
    """Read a YAML file of one document.

    Aliases are refused: a few of them make gigabytes out of a hundred bytes. So are keys that stand twice in a
    mapping, of which YAML would keep the last.

    Raises:
        AgentError: the file cannot be read, is no YAML, or goes beyond the bounds.
    """
    text = read_text(path)
    try:
        _check_events(path, text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"the character U+{ord(text[error.position]):04X} may not stand in YAML: take it out"
        raise AgentError([Problem(path, line, message)]) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"no YAML ({error.problem}): check the indentation, and quote texts with signs in them"
        raise AgentError([Problem(path, mark.line + 1 if mark else 0, message)]) from error
    if root is None:
        raise AgentError([Problem(path, 0, "empty: write it, or remove the file")])
    found = YamlFile(path, lines={(): root.start_mark.line + 1})
    problems: list[Problem] = []
    found.content = _plain(root, (), found, problems)
    if problems:
        raise AgentError(problems)
    return found


def _check_events(path: Path, text: str) -> None:
    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise AgentError([Problem(path, line, "anchors (&) and aliases (*) are not read: write the value out")])
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise AgentError([Problem(path, line, f"nested more than {MAX_DEPTH} deep: nothing here goes so deep")])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise AgentError([Problem(path, line, "a second document begins here: remove the line ---")])


def _plain(node: yaml.Node, place: Place, file: YamlFile, problems: list[Problem]) -> object:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place, file, problems)
    if isinstance(node, yaml.SequenceNode):
        items: list[object] = []
        for index, item in enumerate(node.value):
            file.lines[*place, index] = item.start_mark.line + 1
            items.append(_plain(item, (*place, index), file, problems))
        return items
    return _scalar(node, file, problems)


def _mapping(node: yaml.MappingNode, place: Place, file: YamlFile, problems: list[Problem]) -> dict[str, object]:
    content: dict[str, object] = {}
    for key_node, value in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            problems.append(Problem(file.path, line, "a key must be a word: quote it"))
            continue
        key = str(key_node.value)
        if key in content:
            first = file.lines[*place, key]
            message = f"{key!r} stands in line {first} already: rename one of the two, or remove it"
            problems.append(Problem(file.path, line, message))
            continue
        file.lines[*place, key] = line
        content[key] = _plain(value, (*place, key), file, problems)
    return content


def _scalar(node: yaml.Node, file: YamlFile, problems: list[Problem]) -> object:
    text = str(node.value)
    kind = str(node.tag).rpartition(":")[2]
    try:
        match kind:
            case "null":
                return None
            case "bool":
                return text.lower() in {"true", "yes", "on"}
            case "int":
                return int(text)
            case "float":
                return float(text)
    except ValueError:
        # YAML 1.1 has numbers such as 1:30 and 0b1, which people mean as texts.
        return text
    if kind not in {"str", "timestamp", "merge", "value"}:
        line = node.start_mark.line + 1
        problems.append(Problem(file.path, line, f"the tag {node.tag!r} is not read: write a plain value"))
    return text
