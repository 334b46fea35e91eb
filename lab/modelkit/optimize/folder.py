"""The folder that optimizing writes: what the results in it are of, and the engine beside them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from engines.build.files import write_whole
from modelkit.cards import name_data, sha256
from modelkit.errors import TrainingError
from modelkit.triton_models import check_target

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from modelkit.optimize.options import OptimizeOptions
    from modelkit.optimize.tasks import Task
    from modelkit.training.progress import Display

_GIVEN = "given.json"


def check_folder(out: Path) -> None:
    """Makes sure that an engine can be written, and that none is replaced but what optimizing wrote.

    Raises:
        EngineError: it cannot.
    """
    check_target(out, replace=(out / _GIVEN).exists())


def begin(options: OptimizeOptions, task: Task) -> None:
    """Notes what results in ``out`` are of.

    Raises:
        TrainingError: there are results of something else.
    """
    files = {name: options.engine / name for name in task.files}
    given = {name: sha256(path) for name, path in files.items() if path.exists()} | {
        "--data": _digests(options.data),
        "--eval": _digests([options.evaluation]),
        "--limit": options.limit,
        "--rows": options.rows,
    }
    path = options.out / _GIVEN
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else given
    different = [name for name in {**before, **given} if before.get(name) != given.get(name)]
    if different:
        raise TrainingError(f"{options.out} holds results with another {' and '.join(different)}: choose another --out")
    write_whole(path, json.dumps(given, indent=1) + "\n")


def _digests(files: Iterable[Path]) -> dict[str, str]:
    return {name: entry["sha256"] for name, entry in name_data(files).items()}


def remove_engine(out: Path, display: Display) -> None:
    """Removes the engine that an earlier run wrote, lest it be served for what was chosen now."""
    if (out / "triton").exists():
        shutil.rmtree(out / "triton")
        (out / "card.json").unlink(missing_ok=True)
        display.say(f"removed the engine of an earlier run from {out}: no point loses little enough now")
