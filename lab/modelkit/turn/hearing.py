"""What recognition makes of recordings: the words up to a pause, and where words end."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.utterance import Utterance
from engines.build.moonshine import TARGET

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_MAX_SAMPLES = 30 * 16_000


class Hearing:
    """The recognizer that is served, without a server."""

    def __init__(self) -> None:
        self._recognizer = MoonshineRecognizer(TARGET)

    def text(self, samples: Floats) -> str:
        """Transcribes sound at 16 kHz, of which the last 30 s count."""
        return self._recognizer.text(self._recognizer.transcribe([_utterance(samples)])[0])

    def gaps(self, samples: Floats) -> list[tuple[int, int]]:
        """Returns, for each word but the last, its last sample and the first one of the next word."""
        utterance = _utterance(samples)
        utterance.tokens = self._recognizer.transcribe([utterance])[0]
        words = self._recognizer.time_words([utterance])[0]
        return [(word.end, after.start) for word, after in itertools.pairwise(words)]


def _utterance(samples: Floats) -> Utterance:
    utterance = Utterance()
    utterance.append(samples[-_MAX_SAMPLES:])
    return utterance
