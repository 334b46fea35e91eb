"""Detection of the end of a turn: pauses in, probabilities out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.session import ONNX_RUNTIME
from engines.turn.judge import Judge
from engines.turn.log_mel import SAMPLE_RATE
from engines.turn.sound import SoundNetwork, silence_seconds
from engines.turn.words import WordNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator

SOUND = "smart-turn/recent.onnx"
"""The network for sound, from the folder of the model's version; the other files lie in that folder."""
WORDS, TOKENIZER, JUDGE = "words.int8.onnx", "tokenizer.json", "judge.npz"
MIN_SAMPLES = SAMPLE_RATE // 10
"""In less sound nobody has said anything: it is judged without the networks, at a probability of 0."""


class DetectorFilesError(RuntimeError):
    """Files of the model are missing; the message says what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Pause:
    """Sound and text of a turn at a pause.

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
        accelerator: what computes the networks.

    Raises:
        DetectorFilesError: a file is missing.
        JudgeFileError: the file of weights is damaged.
    """

    def __init__(self, folder: Path, threads: int = 1, accelerator: Accelerator = ONNX_RUNTIME) -> None:
        if not (folder / SOUND).is_file():
            raise DetectorFilesError(
                f"{folder / SOUND} is missing: run `make setup`, or `python -m engines.build.smart_turn`, "
                "and start again"
            )
        self._sound = SoundNetwork(folder / SOUND, threads, accelerator)
        self._words = WordNetwork(folder / WORDS, folder / TOKENIZER, threads, accelerator)
        self._judge = Judge.load(folder / JUDGE)

    def judge(self, pauses: Sequence[Pause]) -> list[float]:
        """Return for each pause the probability that the turn is over."""
        spoken = [pause for pause in pauses if len(pause.samples) >= MIN_SAMPLES]
        read = self._words.read([pause.text for pause in spoken])
        found = iter([self._judge_one(pause, logit) for pause, logit in zip(spoken, read, strict=True)])
        return [next(found) if len(pause.samples) >= MIN_SAMPLES else 0.0 for pause in pauses]

    def _judge_one(self, pause: Pause, word_logit: float | None) -> float:
        silence = silence_seconds(pause.samples)
        return self._judge.probability(self._sound.hear(pause.samples), silence, word_logit)
