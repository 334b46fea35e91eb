"""Table of an agent: figures by the values of slots."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.dialog.agent.expressions import as_number
from pipelines.dialog.agent.problems import AgentError, Problem
from pipelines.dialog.agent.yaml_file import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from decimal import Decimal
    from pathlib import Path

MAX_ROWS = 2_000
MAX_COLUMNS = 20


@dataclass(frozen=True)
class Table:
    """Table of an agent.

    Attributes:
        columns: their names; those of slots are its keys, others hold figures.
        rows: values by column; "" stands for every value of a slot.
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]

    def keys(self, slots: Collection[str]) -> tuple[str, ...]:
        """Return the columns that are named after slots."""
        return tuple(name for name in self.columns if name in slots)

    def figure(self, column: str, slots: Collection[str], values: Mapping[str, str]) -> Decimal | None:
        """Return the figure of a column for values of slots; None: there is none."""
        keys = self.keys(slots)
        return next((as_number(row[column]) for row in self.rows if _fits(row, keys, values, is_whole=True)), None)

    def values_with(self, slot: str, slots: Collection[str], values: Mapping[str, str]) -> frozenset[str]:
        """Return the values that go with others, in lower case; "": every one."""
        keys = tuple(name for name in self.keys(slots) if name != slot)
        return frozenset(row[slot].lower() for row in self.rows if _fits(row, keys, values, is_whole=False))


def _fits(row: Mapping[str, str], keys: Collection[str], values: Mapping[str, str], *, is_whole: bool) -> bool:
    return all(
        not row[key] or (row[key].lower() == values[key].lower() if values.get(key) else not is_whole) for key in keys
    )


def read_table(path: Path) -> Table:
    """Read a table: CSV, with the names of its columns in the first line.

    Raises:
        AgentError: it cannot be used; all problems are told.
    """
    lines = list(csv.reader(read_text(path, 256 * 1024, path.parent.parent).splitlines()))
    columns = tuple(name.strip() for name in lines[0]) if lines else ()
    problems: list[Problem] = []
    if len(columns) < 2 or not all(columns) or len(set(columns)) < len(columns):
        message = "the first line must name at least two columns, each once: write drink,size,price"
        raise AgentError([Problem(path, 1, message)])
    if len(columns) > MAX_COLUMNS or len(lines) > MAX_ROWS + 1:
        raise AgentError([Problem(path, 0, f"{MAX_ROWS} lines of {MAX_COLUMNS} columns are the most: divide it")])
    rows: list[Mapping[str, str]] = []
    for number, line in enumerate(lines[1:], 2):
        if not any(line):
            continue
        if len(line) != len(columns):
            problems.append(
                Problem(path, number, f"{len(line)} values for {len(columns)} columns: write {len(columns)}")
            )
            continue
        rows.append(dict(zip(columns, (value.strip() for value in line), strict=True)))
    if not rows and not problems:
        problems.append(Problem(path, 0, "holds no lines below the names of its columns: write them"))
    if problems:
        raise AgentError(problems)
    return Table(columns, tuple(rows))
