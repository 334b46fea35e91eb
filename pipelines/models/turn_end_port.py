"""Protocol and data of end-of-turn detection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import Timing

MAX_JUDGED_SECONDS = 8.0
"""Seconds of sound that are judged; what lies before them is left out."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Judgement of a pause.

    Attributes:
        probability: how probable it is that the turn is over, 0 to 1.
        timing: what the answer cost.
    """

    probability: float
    timing: Timing


class EndOfTurnModel(Protocol):
    """Detection of the end of a turn."""

    async def judge(self, samples: npt.NDArray[np.float32], text: str, due: float | None = None) -> TurnEnd:
        """Judge a pause.

        Args:
            samples: sound up to now, the pause included, float32 ``[samples]`` at 16 kHz; the last
                :data:`MAX_JUDGED_SECONDS` count.
            text: recognized words of the turn so far; "" where there are none yet.
            due: deadline, see ``pipelines.models.ports``.

        Raises:
            ModelError: the model does not answer.
        """
