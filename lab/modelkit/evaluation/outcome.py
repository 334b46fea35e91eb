"""What an evaluation finds: scores for the whole set, and how each item fared."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from engines.build.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | float | int | bool | None"
"""What JSON can hold."""

DECIMALS = 4

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Case:
    """How one item fared.

    Attributes:
        name: the item: a file, a line, the identifier of a question.
        reference: what would have been right.
        got: what came.
        score: 1 where it was right; the less, the worse.
    """

    name: str
    reference: Json
    got: Json
    score: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of an engine on a set.

    Attributes:
        task: ``asr``, ``nlu``, ``qa`` or ``commands``.
        n: number of items that were judged.
        scores: by name. Fractional numbers are shares, 1 being all; whole ones are counts.
        seconds: how long the engine took for all of them.
        cases: one an item.
    """

    task: str
    n: int
    scores: Mapping[str, Json]
    seconds: float
    cases: Sequence[Case]

    def to_json(self) -> str:
        """Writes everything but the cases as one line of JSON."""
        fields = {"task": self.task, "n": self.n, "scores": self.scores, "seconds": round(self.seconds, 3)}
        return json.dumps(fields)


def share(part: float, whole: float) -> float:
    """Divides, to as many decimals as scores have; 0 where there is nothing to have a share of."""
    return round(part / whole, DECIMALS) if whole else 0.0


def write_errors(path: Path, cases: Sequence[Case]) -> int:
    """Writes the cases that were not all right, the worst first, one JSON object a line.

    Returns:
        How many they are.
    """
    wrong = sorted((case for case in cases if case.score < 1), key=lambda case: case.score)
    write_whole(path, "".join(f"{json.dumps(asdict(case), ensure_ascii=False)}\n" for case in wrong))
    return len(wrong)


def spread(items: Sequence[Item], limit: int | None) -> list[Item]:
    """Takes ``limit`` items that lie evenly over the whole sequence; all where there are no more or it is None.

    Data files are sorted by topic or speaker: their beginning alone would speak for a part of them only.
    """
    if limit is None or limit >= len(items):
        return list(items)
    return [items[index * len(items) // limit] for index in range(limit)]
