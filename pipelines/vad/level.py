"""Level control before voice activity: slow, bounded gain for quiet speech."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_GAIN_DB: Final = 30.0
FLOOR_TARGET_DB: Final = -60.0
"""What the noise floor is lifted to: decibels of full scale, as all levels here."""

SPEECH_LIMIT_DB: Final = -20.0
"""Speech is not lifted beyond this."""

_QUIETEST_DB = -90.0
_INITIAL_FLOOR_DB = -80.0
# Decibels and shares a window of 32 ms.
_FLOOR_FALL = 0.3
_FLOOR_RISE, _FLOOR_RISE_MAX_DB = 0.02, 0.1
_SPEECH_ATTACK = 0.3
_SPEECH_RELEASE_DB = 0.06

_INAUDIBLE_DB = -60.0
"""The hiss of a muted microphone. Steady sound that is quieter is not judged while nobody speaks."""

_STANDS_OUT_DB = 6.0
_MIN_GAIN_DB = 1.0


class LevelGain:
    """Gain of one stream, by its noise floor and the level above.

    The floor follows the quietest windows: it falls within a tenth of a second and rises by 3 dB a second. The gain
    lifts it to ``FLOOR_TARGET_DB``, so that a recording that is 20 dB too quiet sounds to the detector as it was meant.
    Where the floor is loud already, as in a noisy room, nothing is lifted. The level of speech bounds the gain: it
    rises within a tenth of a second, and falls by 2 dB a second.
    """

    def __init__(self) -> None:
        self._floor_db = _INITIAL_FLOOR_DB
        self._speech_db = _QUIETEST_DB

    def follow(self, powers: Iterable[float]) -> tuple[list[float], list[bool]]:
        """Take in the mean square of each of the next windows.

        Returns:
            The factor for the samples of each window, at least 1, and whether it is inaudible: quiet, and not above the
            floor.
        """
        gains: list[float] = []
        inaudible: list[bool] = []
        for power in powers:
            level = max(10 * math.log10(power), _QUIETEST_DB) if power > 0 else _QUIETEST_DB
            inaudible.append(level < _INAUDIBLE_DB and level < self._floor_db + _STANDS_OUT_DB)
            self._adapt(level)
            gain = min(FLOOR_TARGET_DB - self._floor_db, SPEECH_LIMIT_DB - self._speech_db, MAX_GAIN_DB)
            gains.append(10 ** (gain / 20) if gain > _MIN_GAIN_DB else 1.0)
        return gains, inaudible

    def _adapt(self, level: float) -> None:
        below = level - self._floor_db
        self._floor_db += _FLOOR_FALL * below if below < 0 else min(_FLOOR_RISE_MAX_DB, _FLOOR_RISE * below)
        above = level - self._speech_db
        self._speech_db += _SPEECH_ATTACK * above if above > 0 else max(above, -_SPEECH_RELEASE_DB)
