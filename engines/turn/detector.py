"""Detection of the end of a turn: pauses in, probabilities out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.turn.sound import SoundNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

SOUND = "smart-turn/sound.onnx"
"""The network for sound, from the folder of the model's version."""


class DetectorFilesError(RuntimeError):
    """Files of the model are missing; the message says what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Pause:
    """What is known of a turn when somebody pauses.

    Attributes:
        samples: sound up to now, the pause included, float32 ``[samples]`` at 16 kHz, -1 to 1.
        text: recognized words of the turn so far.
    """

    samples: npt.NDArray[np.float32]
    text: str


class Detector:
    """Judges pauses.

    Args:
        folder: of the model's version.
        threads: cores that one batch may use.

    Raises:
        DetectorFilesError: a file is missing.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        if not (folder / SOUND).is_file():
            raise DetectorFilesError(
                f"{folder / SOUND} is missing: run `make setup`, or `python -m modelkit.smart_turn`, and start again"
            )
        self._sound = SoundNetwork(folder / SOUND, threads)

    def judge(self, pauses: Sequence[Pause]) -> list[float]:
        """Returns for each pause the probability that the turn is over."""
        return [1 / (1 + np.exp(-self._sound.hear(pause.samples).logit)) for pause in pauses]
