"""Systems that judge pauses, and what they say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

import numpy as np

from benchmarks.turns.sweep import ASKED_SECONDS
from engines.build.smart_turn import TARGET, WHOLE
from engines.turn.detector import Detector
from engines.turn.detector import Pause as AskedPause
from engines.turn.sound import SoundNetwork
from modelkit.triton_models import MODEL_REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from benchmarks.turns.material import Judged

SMART_TURN, OURS = "Smart Turn v3.2", "ours"


class System(Protocol):
    """A system under test."""

    name: str

    def score(self, samples: npt.NDArray[np.float32], text: str) -> float:
        """Returns how sure it is that the turn is over, 0 to 1."""


class SmartTurn:
    """Smart Turn alone, over eight seconds of sound, as its package runs it."""

    name = SMART_TURN

    def __init__(self) -> None:
        self._network = SoundNetwork(TARGET / WHOLE)

    def score(self, samples: npt.NDArray[np.float32], text: str) -> float:  # noqa: ARG002 - it hears alone
        """See :class:`System`."""
        return float(1 / (1 + np.exp(-self._network.hear(samples).logit)))


class Ours:
    """The engine that is served."""

    name = OURS

    def __init__(self) -> None:
        self._detector = Detector(MODEL_REPOSITORY / "end_of_turn" / "1")

    def score(self, samples: npt.NDArray[np.float32], text: str) -> float:
        """See :class:`System`."""
        return self._detector.judge([AskedPause(samples, text)])[0]


def scores(system: System, pauses: Sequence[Judged]) -> tuple[npt.NDArray[np.float64], float]:
    """Asks a system at :data:`ASKED_SECONDS` of each pause.

    Returns:
        Its scores, ``[pauses, times]``, -1 where the pause is over by then, and the mean core seconds of one.
    """
    found = np.full((len(pauses), len(ASKED_SECONDS)), -1.0)
    took = []
    for row, judged in enumerate(pauses):
        for column, asked in enumerate(ASKED_SECONDS):
            if asked <= min(judged.seconds, judged.pause.seconds):
                began = time.process_time()
                found[row, column] = system.score(judged.pause.heard(asked), judged.text)
                took.append(time.process_time() - began)
    return found, float(np.mean(took)) if took else 0.0
