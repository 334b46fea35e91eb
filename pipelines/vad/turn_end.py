"""End of a turn by probability and silence, without a clock."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class EndpointingMode(enum.Enum):
    """Decision about a pause: by model or by silence."""

    MODEL = "model"
    """The model of the end of a turn; the silence rule where it does not answer."""
    SILENCE = "silence"
    """The length of the silence alone."""


class Patience(enum.Enum):
    """Tolerance for pauses in which a speaker thinks."""

    EAGER = "eager"
    NORMAL = "normal"
    PATIENT = "patient"


SILENCES: Final[Mapping[Patience, Sequence[tuple[float, float]]]] = {
    Patience.EAGER: ((0.0, 1.2), (0.1, 0.7), (0.4, 0.35), (0.7, 0.224), (0.85, 0.192), (1.0, 0.192)),
    Patience.NORMAL: ((0.0, 1.8), (0.1, 1.2), (0.3, 0.8), (0.6, 0.45), (0.8, 0.288), (0.9, 0.224), (1.0, 0.192)),
    Patience.PATIENT: ((0.0, 3.0), (0.05, 2.5), (0.2, 1.8), (0.5, 1.1), (0.8, 0.7), (0.95, 0.448), (1.0, 0.32)),
}
"""Silence in seconds that ends a turn which is over with such a probability; between two points it falls evenly.

Read off the tuning half of the recordings: ``vivavoce bench turns`` prints what it comes to (lab/docs/end_of_turn.md).
"""


def ending_silence(probability: float, patience: Patience) -> float:
    """Return the seconds of silence after which a turn is over.

    Args:
        probability: how probable it is that the turn is over, 0 to 1.
        patience: how long the speaker may think.
    """
    probabilities, seconds = zip(*SILENCES[patience], strict=True)
    return float(np.interp(probability, probabilities, seconds))
