"""Problems of an agent's files, each with its file, its line and the cure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with an agent's files.

    Attributes:
        path: the file, or the folder.
        line: counted from 1; 0: the file as a whole.
        message: what is wrong, then the cure.
    """

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        """Return the problem in one line."""
        place = f"{self.path}, line {self.line}" if self.line else str(self.path)
        return f"{place}: {self.message}"


class AgentError(PipelineError):
    """The files of an agent cannot be used.

    Attributes:
        problems: all that were found, in the order of files and lines.
    """

    reason = "BAD_AGENT"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))
