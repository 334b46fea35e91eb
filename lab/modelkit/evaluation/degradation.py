"""Recordings as bad microphones make them: too quiet or too loud, with a DC offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from modelkit.evaluation.recordings import Clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modelkit.evaluation.engines import SpeechEngines, Turn
    from vivavoce import PhraseHints

_STEPS = 32_768
"""Steps of 16 bits to full scale."""


@dataclass(frozen=True, slots=True)
class Degradation:
    """What is done to a recording before it is put to engines.

    Attributes:
        gain_db: how much louder it becomes, in decibels.
        offset: DC offset, as a share of full scale.
    """

    gain_db: float = 0.0
    offset: float = 0.0

    def of(self, clip: Clip) -> Clip:
        """Returns the recording as it would have been recorded in 16 bits: quantized, and clipped at full scale."""
        if not self.gain_db and not self.offset:
            return clip
        samples = clip.samples * 10 ** (self.gain_db / 20) + self.offset
        steps = np.clip(np.round(samples * _STEPS), -_STEPS, _STEPS - 1)
        return Clip((steps / _STEPS).astype(np.float32), clip.sample_rate_hz)


class DegradedEngines:
    """Engines that hear every recording as a bad microphone makes it (``modelkit.evaluation.engines.SpeechEngines``).

    Args:
        engines: what hears it.
        degradation: what is done to it before.
    """

    def __init__(self, engines: SpeechEngines, degradation: Degradation) -> None:
        self._engines = engines
        self._degradation = degradation

    async def hear(self, clip: Clip, hints: Sequence[PhraseHints], *, one_utterance: bool) -> list[Turn]:
        """Listens to a recording; see ``SpeechEngines``."""
        return await self._engines.hear(self._degradation.of(clip), hints, one_utterance=one_utterance)
