"""What optimizing is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class OptimizeOptions:
    """What is optimized, and how far.

    Attributes:
        engine: directory of a trained engine.
        data: files that it was trained on.
        evaluation: file to score on.
        out: the engine directory to write.
        points: names of points; empty for all.
        minutes: that each training may take.
        rows: that students learn from.
        limit: score on so many items; None for all.
        allowed_loss: share of the score that the chosen point may lose.
        threads: cores that a network may use.
        time_again: measure the times of what is there once more; scores and networks stay.
    """

    engine: Path
    data: tuple[Path, ...]
    evaluation: Path
    out: Path
    points: tuple[str, ...] = ()
    minutes: float = 15.0
    rows: int = 20_000
    limit: int | None = None
    allowed_loss: float = 0.007
    threads: int = 2
    time_again: bool = False
