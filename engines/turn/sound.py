"""The network for sound: Smart Turn v3.2 (Daily, BSD 2-Clause licence), the encoder of Whisper tiny with a head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort

from engines.turn.log_mel import log_mel

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """What the network hears in the sound before a pause.

    Attributes:
        logit: its own judgement, positive where the turn is over.
        frames: float32 ``[frames, width]``, 20 ms each, the last the newest.
        summary: float32 ``[width]``, their mean with the weights that the network gives them.
    """

    logit: float
    frames: npt.NDArray[np.float32]
    summary: npt.NDArray[np.float32]


class SoundNetwork:
    """Runs the network, one pause at a time: on a CPU a batch takes as long a pause, and more memory.

    Args:
        path: the graph that ``modelkit.smart_turn`` builds.
        threads: cores that one run may use.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Spinning threads would take the cores from speech recognition, which shares them.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def hear(self, samples: npt.NDArray[np.float32]) -> Heard:
        """Runs over sound, float32 ``[samples]`` at 16 kHz, of which the last 8 s count."""
        features = log_mel(samples)[np.newaxis]
        logit, frames, summary = self._session.run(["logit", "frames", "summary"], {"input_features": features})
        return Heard(float(logit[0, 0]), frames[0], summary[0])
