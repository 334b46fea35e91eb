"""Splits the data of a question answering engine as its training did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from modelkit.cards import sha256
from modelkit.training.checkpoint import RUN
from modelkit.training.qa_data import QaData, gather

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def split_as_trained(directory: Path, data: Sequence[Path]) -> QaData | None:
    """Finds out which questions an engine was trained on, and which it was validated and calibrated with.

    Args:
        directory: of the engine.
        data: SQuAD files, in any order and under any names.

    Returns:
        Its training's data; None where ``training/run.json`` is missing, or tells of other files.
    """
    record = directory / "training" / RUN
    if not record.exists():
        return None
    given = json.loads(record.read_text(encoding="utf-8"))
    files = {sha256(path): path for path in data}
    trained = [entry["sha256"] for entry in given["data"].values()]
    if set(trained) != files.keys():
        return None
    # The split hangs on the order of the questions.
    ordered = [files[digest] for digest in trained]
    return gather(ordered, test=None, validation=given["validation"])
