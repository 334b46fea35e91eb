"""Evaluations as tables, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from modelkit.evaluation.outcome import Evaluation, Json


def show(console: Console, evaluation: Evaluation) -> None:
    """Prints the scores: single ones first, then a table for each that has parts."""
    console.print(f"{evaluation.task}: {evaluation.n} judged in {evaluation.seconds:.1f} s", highlight=False)
    overview = Table("", "", show_header=False)
    parts = []
    for name, value in evaluation.scores.items():
        rows = _rows(value)
        if rows is None:
            overview.add_row(_words(name), _text(value))
        elif rows:
            parts.append((_words(name), rows))
    console.print(overview)
    for title, rows in parts:
        console.print(title)
        console.print(_table(rows))


def _rows(value: Json) -> list[Mapping[str, Json]] | None:
    """Makes rows of what has parts; None of what has none."""
    if isinstance(value, Mapping):
        return [{"": name} | dict(row) for name, row in value.items() if isinstance(row, Mapping)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [row for row in value if isinstance(row, Mapping)]
    return None


def _table(rows: Sequence[Mapping[str, Json]]) -> Table:
    table = Table()
    for name, value in rows[0].items():
        table.add_column(_words(name), justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*map(_text, row.values()))
    return table


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Json) -> str:
    """Writes a share in percent, and everything else as it is."""
    if value is None:
        return "-"
    return f"{value:.1%}" if isinstance(value, float) else str(value)
