"""Keeps what a phase finds, row by row, so that nothing is lost when its time is up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Row: TypeAlias = dict[str, object]


class Sheet:
    """A JSON file ``{"phase", "rows", "error"}`` that is whole after every row.

    Args:
        path: of the file; what is there is replaced.
        phase: its name.
    """

    def __init__(self, path: Path, phase: str) -> None:
        self._path = path
        self._content: dict[str, object] = {"phase": phase, "rows": [], "error": None}
        self._write()

    @property
    def folder(self) -> Path:
        """Where the file lies, and what a phase leaves besides."""
        return self._path.parent

    @classmethod
    def reopen(cls, path: Path, phase: str) -> Sheet:
        """Goes on with a file, if there is one."""
        rows = read_rows(path)
        sheet = cls(path, phase)
        sheet._content["rows"] = rows
        return sheet

    def add(self, **row: object) -> None:
        """Adds a row."""
        rows = self._content["rows"]
        assert isinstance(rows, list)
        rows.append(row)
        self._write()
        print(json.dumps(row), flush=True)

    def fail(self, reason: str) -> None:
        """Notes why the phase ended before its end."""
        self._content["error"] = reason
        self._write()

    def _write(self) -> None:
        sibling = self._path.with_suffix(".new")
        sibling.write_text(json.dumps(self._content, indent=1) + "\n", encoding="utf-8")
        sibling.replace(self._path)


def read_rows(path: Path) -> list[Row]:
    """Reads the rows of a phase; none where it has not run."""
    return list(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.exists() else []


def read_error(path: Path) -> str | None:
    """Reads why a phase ended early, if it did."""
    if not path.exists():
        return "it did not run"
    error = json.loads(path.read_text(encoding="utf-8"))["error"]
    return None if error is None else str(error)
