"""What a run of training leaves in its folder, so that it can go on where it was interrupted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch

from engines.build.files import write_whole
from modelkit.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

CHECKPOINT = "checkpoint.pt"
BEST = "best.pt"
NETWORK = "network.pt"
RUN = "run.json"


class RunFolder:
    """The folder ``training/`` of an engine directory.

    It holds ``run.json``, what the run was given; ``checkpoint.pt`` and ``best.pt`` while it is under way; and when it
    has ended ``network.pt``, its float32 weights.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def interrupted(self) -> bool:
        """Whether a run can go on here."""
        return (self.path / CHECKPOINT).exists()

    @property
    def finished(self) -> bool:
        """Whether a run has ended here."""
        return (self.path / NETWORK).exists()

    @property
    def given(self) -> dict[str, object] | None:
        """What the run was given; None where no ``run.json`` tells."""
        record = self.path / RUN
        found: dict[str, object] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        return found or None

    def holds_own(self, name: str) -> bool:
        """Tells whether a file lies beside finished weights, and so is part of their network."""
        return self.finished and (self.path / name).exists()

    def begin(self, given: Mapping[str, object]) -> None:
        """Notes what the run is given, or makes sure that an interrupted one was given the same.

        Raises:
            TrainingError: it was given something else.
        """
        given = json.loads(json.dumps(given))
        if self.interrupted or self.finished:
            before = self.given or given
            different = [name for name in {**before, **given} if before.get(name) != given.get(name)]
            if different:
                raise TrainingError(
                    f"{self.path.parent} holds a run with other {' and '.join(different)}: "
                    "repeat its command to go on, or choose another --out"
                )
        write_whole(self.path / RUN, json.dumps(given, indent=1) + "\n")

    def save(self, name: str, state: object) -> None:
        """Writes a file of tensors in one step."""
        self.path.mkdir(parents=True, exist_ok=True)
        new = self.path / f".{name}.new"
        torch.save(state, new)
        new.replace(self.path / name)

    def load(self, name: str) -> dict[str, Any]:
        """Reads a file of tensors.

        Raises:
            TrainingError: it is damaged.
        """
        return load_tensors(self.path / name)

    def end(self, network: Mapping[str, Tensor]) -> None:
        """Keeps the weights, wherever they were computed, and drops what was needed to go on."""
        self.save(NETWORK, {name: tensor.cpu() for name, tensor in network.items()})
        for name in (CHECKPOINT, BEST):
            (self.path / name).unlink(missing_ok=True)


def load_tensors(path: Path) -> dict[str, Any]:
    """Reads tensors that ``torch.save`` wrote; a pickle that would run code is refused.

    Raises:
        TrainingError: the file cannot be read as that.
    """
    try:
        found = dict(torch.load(path, weights_only=True, map_location="cpu"))
    except Exception as error:
        # The unpickler raises whatever it happens to meet in damaged bytes: IndexError, struct.error, AssertionError.
        raise TrainingError(f"{path} cannot be read ({type(error).__name__}): it is damaged, train again") from error
    if not all(isinstance(name, str) for name in found):
        raise TrainingError(f"{path} holds no tensors by their names: it is damaged, train again")
    return found
